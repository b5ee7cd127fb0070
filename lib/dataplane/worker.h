// A worker: one transport core, the port queues it owns, and the lock under which its loop body
// runs, whoever drives it. `progress=dedicated`: a thread of its own. `progress=inline`:
// application threads drive it from post and poll; a background thread keeps timers alive.
#pragma once

namespace softmrc::dataplane {

class Worker {
 public:
  // Rings the doorbell of a QP that has new requests: lock-free, any thread. With inline progress
  // the caller follows with progress().
  void doorbell(Qpn qpn);
  // Runs the loop body once if nobody else does (try-lock). Returns whether it did any work.
  // With dedicated progress: a no-op returning false.
  bool progress();
  // Runs `action` with the core, alone (control path: create, modify, destroy, query). Takes the
  // worker from whoever drives it, promptly.
  void with_core(const std::function<void(transport::Core&, Time now)>& action);
};

}  // namespace softmrc::dataplane
