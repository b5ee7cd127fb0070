#include "dataplane/rcu.h"

#include <urcu/urcu-qsbr.h>

namespace softmrc::dataplane::rcu {

namespace {

// A thread registers when it first reads and leaves when it ends.
struct Registration {
  Registration() {
    urcu_qsbr_register_thread();
    urcu_qsbr_thread_offline();
  }
  ~Registration() { urcu_qsbr_unregister_thread(); }
};

}  // namespace

ReadSection::ReadSection() {
  static thread_local const Registration registration;
  urcu_qsbr_thread_online();
}

ReadSection::~ReadSection() { urcu_qsbr_thread_offline(); }

void ReadSection::quiescent() { urcu_qsbr_quiescent_state(); }

void synchronize() { urcu_qsbr_synchronize_rcu(); }

}  // namespace softmrc::dataplane::rcu
