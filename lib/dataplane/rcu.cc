#include "dataplane/rcu.h"

#include <urcu/urcu-qsbr.h>

#include "dataplane/tsan.h"

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

// All that readers did before a quiescent state comes before what a writer does after it has
// waited.
constexpr char kQuiescence = 0;

}  // namespace

ReadSection::ReadSection() {
  static thread_local const Registration registration;
  urcu_qsbr_thread_online();
}

ReadSection::~ReadSection() {
  tsan::release(&kQuiescence);
  urcu_qsbr_thread_offline();
}

void ReadSection::quiescent() {
  tsan::release(&kQuiescence);
  urcu_qsbr_quiescent_state();
}

void synchronize() {
  urcu_qsbr_synchronize_rcu();
  tsan::acquire(&kQuiescence);
}

}  // namespace softmrc::dataplane::rcu
