// Runs something on EAL's interrupt thread and waits for it. net_memif tears a connection down
// there when its peer goes away, without a lock against whoever stops or closes the port meanwhile:
// two ends that close at the same time freed the same rings twice. Stopping and closing on that
// thread puts the two in line.
#pragma once

#include <functional>

namespace softmrc::dataplane {

// Not from the interrupt thread itself. Runs `action` here if EAL cannot schedule it.
void run_on_interrupt_thread(const std::function<void()>& action);

}  // namespace softmrc::dataplane
