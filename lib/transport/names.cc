// Names of enumerators, as logs, tables and tests print them.
#include "transport/qp_state.h"

namespace softmrc::transport {

const char* name(QpState state) {
  switch (state) {
    case QpState::kReset:
      return "RESET";
    case QpState::kInit:
      return "INIT";
    case QpState::kRtr:
      return "RTR";
    case QpState::kRts:
      return "RTS";
    case QpState::kError:
      return "ERROR";
  }
  return "?";
}

const char* name(SchedulingState state) {
  switch (state) {
    case SchedulingState::kIdle:
      return "IDLE";
    case SchedulingState::kPending:
      return "PENDING";
    case SchedulingState::kActive:
      return "ACTIVE";
    case SchedulingState::kReady:
      return "READY";
  }
  return "?";
}

}  // namespace softmrc::transport
