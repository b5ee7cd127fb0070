// How far beyond cack_psn a responder tracks: the window it has promised, the memory that takes,
// and dynamic MPR, which moves the promise with the use that is made of it.
//
// The right edge never goes back: a PSN that was once within the window is taken even after the
// window has shrunk, since the requestor may have sent it before it knew. The ring shrinks when
// the last such PSN has been passed. Rule: doc/protocol.md, "Responder", "QP attributes".
#include <algorithm>
#include <bit>

#include "transport/responder.h"

namespace softmrc::transport {

namespace {

constexpr int32_t kWindowsPerReview = 4;

uint32_t slots_for(int32_t span) {
  return std::bit_ceil(std::max(static_cast<uint32_t>(span), ArrivalRing::kFewestSlots));
}

}  // namespace

void Responder::set_window(uint32_t units) {
  mpr_ = static_cast<uint8_t>(units);
  window_ = static_cast<int32_t>(units * kMprUnit);
  move_edge();
}

// Memory to track `psn`, which is within the window. False: the limit does not allow it.
bool Responder::track(Psn psn) {
  const int32_t span = psn - processed_;
  if (ring_.covers(span)) return true;
  // As much as was promised, else as much as there is.
  bool tracked = false;
  for (uint32_t slots = slots_for(edge_ - processed_); slots >= slots_for(span) && !tracked;
       slots /= 2)
    tracked = ring_.resize(slots, processed_ + 1, highest_);
  if (dynamic_mpr_ && !ring_.covers(window_)) set_window(std::max(ring_.slots() / kMprUnit, 1u));
  return tracked;
}

// After new data `distance` beyond cack_psn. [D] The window doubles, up to mpr_dest and if there is
// memory, once more than three quarters of it are used; it halves, down to one unit, when in four
// windows of packets no more than a quarter was.
void Responder::adjust_window(int32_t distance) {
  peak_ = std::max(peak_, distance);
  if (peak_ > window_ / 4 * 3 && mpr_ < mpr_dest_) {
    const auto units = std::min<uint32_t>(2 * mpr_, mpr_dest_);
    const auto span = static_cast<int32_t>(units * kMprUnit);
    if (ring_.covers(span) || ring_.resize(slots_for(span), processed_ + 1, highest_))
      set_window(units);
    begin_review();
  } else if (cack_ - review_began_ >= kWindowsPerReview * window_) {
    const uint32_t needed = slots_for(std::max(window_, edge_ - processed_));
    if (needed < ring_.slots()) ring_.resize(needed, processed_ + 1, highest_);
    if (peak_ <= window_ / 4 && mpr_ > 1) set_window(mpr_ / 2u);
    begin_review();
  }
}

void Responder::begin_review() {
  review_began_ = cack_;
  peak_ = 0;
}

}  // namespace softmrc::transport
