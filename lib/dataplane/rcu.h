// RCU, QSBR flavour, for tables that workers read and other threads replace (memory regions, QPs,
// fault rules). A thread is a reader only inside a ReadSection: whoever drives a worker holds one
// for as long as it holds the worker's lock, and announces quiescence once per loop. Outside, a
// thread is offline and no writer waits for it, however long it sleeps.
#pragma once

namespace softmrc::dataplane::rcu {

// Not nestable. What was read inside stays valid until quiescent() or the end.
class ReadSection {
 public:
  ReadSection();
  ~ReadSection();
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  void quiescent();
};

// Waits until every reader has passed a quiescent state: what was unpublished before may be freed.
// Must not be called inside a ReadSection that still uses it, nor with a lock a driver waits for.
void synchronize();

}  // namespace softmrc::dataplane::rcu
