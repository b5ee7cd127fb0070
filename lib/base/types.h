// The strong types every layer shares: sequence numbers whose comparison wraps, identifiers that
// cannot be mixed up, and time as integer nanoseconds. No I/O, no clock: `Time` is always handed
// in.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace softmrc {

// Clock tag without now(): the core never reads a clock, its caller passes Time in.
struct CoreClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoreClock, duration>;
  static constexpr bool is_steady = true;
};
using Duration = CoreClock::duration;  // nanoseconds
using Time = CoreClock::time_point;    // nanoseconds since an arbitrary origin
inline constexpr Time kNever = Time::max();
// Before any time a caller passes in, and still safe to subtract from one.
inline constexpr Time kLongAgo{Duration::min() / 2};

// A sequence number modulo 2^Bits. Differences are signed and lie in [-2^(Bits-1), 2^(Bits-1));
// `a < b` means "a is before b" by that difference, which is what every PSN comparison must use.
template <typename Tag, unsigned Bits>
class Sequence {
 public:
  static constexpr uint32_t kMask = (Bits == 32) ? ~0u : (1u << Bits) - 1;

  constexpr Sequence() = default;
  constexpr explicit Sequence(uint32_t value) : value_(value & kMask) {}

  constexpr uint32_t value() const { return value_; }

  friend constexpr Sequence operator+(Sequence a, int32_t n) {
    return Sequence(a.value_ + static_cast<uint32_t>(n));
  }
  friend constexpr Sequence operator-(Sequence a, int32_t n) {
    return Sequence(a.value_ - static_cast<uint32_t>(n));
  }
  constexpr Sequence& operator++() { return *this = *this + 1; }
  constexpr Sequence& operator+=(int32_t n) { return *this = *this + n; }

  // Signed distance from b to a.
  friend constexpr int32_t operator-(Sequence a, Sequence b) {
    const uint32_t shifted = (a.value_ - b.value_) << (32 - Bits);
    return static_cast<int32_t>(shifted) >> (32 - Bits);
  }
  friend constexpr bool operator==(Sequence a, Sequence b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Sequence a, Sequence b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Sequence a, Sequence b) { return a - b < 0; }
  friend constexpr bool operator>(Sequence a, Sequence b) { return a - b > 0; }
  friend constexpr bool operator<=(Sequence a, Sequence b) { return a - b <= 0; }
  friend constexpr bool operator>=(Sequence a, Sequence b) { return a - b >= 0; }

 private:
  uint32_t value_ = 0;
};

using Psn = Sequence<struct PsnTag, 24>;      // packet sequence number
using Msn = Sequence<struct MsnTag, 16>;      // message sequence number
using RqMsn = Sequence<struct RqMsnTag, 16>;  // write-with-immediate message sequence number

// An identifier that only compares; no arithmetic.
template <typename Tag, typename Rep>
class Identifier {
 public:
  constexpr Identifier() = default;
  constexpr explicit Identifier(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Identifier, Identifier) = default;  // NOLINT(*-use-nullptr)

 private:
  Rep value_ = 0;
};

using Qpn = Identifier<struct QpnTag, uint32_t>;     // queue pair number, 24 bits
using Ev = Identifier<struct EvTag, uint32_t>;       // wire entropy value, 32 bits
using PortId = Identifier<struct PortTag, uint8_t>;  // port = plane, numbered from 1; 0 = none

inline constexpr Qpn kEndpointQpn{0x2};    // destination of endpoint operations
inline constexpr uint32_t kFirstQpn = 16;  // of QPs: 0..15 are reserved
inline constexpr size_t kMaxPorts = 16;    // planes per node this build supports

}  // namespace softmrc

template <typename Tag, typename Rep>
struct std::hash<softmrc::Identifier<Tag, Rep>> {
  size_t operator()(softmrc::Identifier<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
