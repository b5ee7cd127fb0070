// The states of a queue pair and the transitions between them, as a table that a test prints and
// compares. RESET -> INIT -> RTR -> RTS; ERROR from anywhere, by request or by failure;
// RESET from anywhere. SQD and SQE do not exist in MRC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace softmrc::transport {

enum class QpState : uint8_t { kReset, kInit, kRtr, kRts, kError };
inline constexpr size_t kQpStates = 5;
const char* name(QpState state);

struct QpTransition {
  QpState from, to;
  bool attributes;  // the transition takes connection attributes
};

inline constexpr std::array<QpTransition, 15> kQpTransitions{{
    {QpState::kReset, QpState::kReset, false},
    {QpState::kReset, QpState::kInit, true},
    {QpState::kInit, QpState::kReset, false},
    {QpState::kInit, QpState::kInit, true},
    {QpState::kInit, QpState::kRtr, true},
    {QpState::kInit, QpState::kError, false},
    {QpState::kRtr, QpState::kReset, false},
    {QpState::kRtr, QpState::kRts, true},
    {QpState::kRtr, QpState::kError, false},
    {QpState::kRts, QpState::kReset, false},
    {QpState::kRts, QpState::kRts, true},
    {QpState::kRts, QpState::kError, false},
    {QpState::kError, QpState::kReset, false},
    {QpState::kError, QpState::kError, false},
    {QpState::kReset, QpState::kError, false},
}};

constexpr const QpTransition* find_transition(QpState from, QpState to) {
  for (const QpTransition& t : kQpTransitions)
    if (t.from == from && t.to == to) return &t;
  return nullptr;
}

// Where a QP in RTS stands with the scheduler, which lets READY ones take turns. Derived from what
// its requestor has queued and in flight, never stored.
enum class SchedulingState : uint8_t {
  kIdle,     // nothing to send, nothing in flight
  kPending,  // waits for acknowledgements only
  kActive,   // has data, and a window (the peer's, congestion control's, WIMM) is shut
  kReady,    // has data that may leave
};
const char* name(SchedulingState state);

// What a QP does with packets in each state.
constexpr bool can_receive(QpState s) { return s == QpState::kRtr || s == QpState::kRts; }
constexpr bool can_send(QpState s) { return s == QpState::kRts; }

}  // namespace softmrc::transport
