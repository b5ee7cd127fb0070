#include "sim/chaos_lane.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace softmrc::sim {

using transport::RequestStatus;

namespace {

constexpr uint8_t kUntouched = 0xA5, kGivenBack = 0xDB;
constexpr uint32_t kGap = 32;  // between messages, and at both ends
constexpr size_t kLongestMessage = 300'000, kSalts = 1u << 16;

// What messages are made of: any stretch of it.
const std::vector<uint8_t>& pattern() {
  static const std::vector<uint8_t> bytes = [] {
    Random random(1);
    std::vector<uint8_t> made(kLongestMessage + kSalts);
    for (uint8_t& byte : made) byte = static_cast<uint8_t>(random.next());
    return made;
  }();
  return bytes;
}

uint32_t immediate_of(uint32_t lane, size_t index) {
  return lane << 24 ^ static_cast<uint32_t>(index) * 2654435761u;
}

}  // namespace

void ChaosLane::add(const ChaosMessage& message) {
  State state;
  state.plan = message;
  state.packets = std::max((message.length + path_mtu_ - 1) / path_mtu_, 1u);
  state.salt = static_cast<uint32_t>((number_ * 7919u + messages_.size() * 104729u) % kSalts);
  state.placed.resize(state.packets);
  messages_.push_back(std::move(state));
}

void ChaosLane::lay_out(Channel& channel) {
  uint64_t at = kGap;
  State* crosses = nullptr;
  for (State& m : messages_) {
    if (m.plan.wrong == ChaosMessage::Wrong::kBounds) {
      // One may lie across the region's end.
      if (crosses == nullptr && m.plan.length > 0) {
        crosses = &m;
        continue;
      }
      m.plan.wrong = ChaosMessage::Wrong::kBeyond;
    }
    if (m.plan.wrong == ChaosMessage::Wrong::kBeyond) continue;
    m.offset = at;
    at += m.plan.length + kGap;
  }
  if (crosses != nullptr) {
    crosses->offset = at;
    at += crosses->plan.length / 2;
  }
  channel.region_bytes = at;
  uint64_t end = at;
  for (State& m : messages_) {
    if (m.plan.wrong == ChaosMessage::Wrong::kBeyond) m.offset = at + m.plan.length % 7;
    end = std::max(end, m.offset + m.plan.length);
  }
  channel.source_bytes.resize(end, kGivenBack);
  for (const State& m : messages_)
    if (m.plan.wrong != ChaosMessage::Wrong::kBeyond)
      std::memcpy(channel.source_bytes.data() + m.offset, pattern().data() + m.salt, m.plan.length);
  channel.placed_bytes.resize(at + kGap, kUntouched);
}

std::optional<Message> ChaosLane::next_due(Duration now) const {
  if (posted_ == messages_.size() || messages_[posted_].plan.at > now) return std::nullopt;
  const State& m = messages_[posted_];
  Message message;
  message.id = posted_;
  message.offset = m.offset;
  message.length = m.plan.length;
  message.notify = m.plan.immediate;
  message.immediate = immediate_of(number_, posted_);
  message.signaled = m.plan.signaled;
  message.solicited = m.plan.solicited;
  message.pieces = m.plan.pieces;
  message.local_error = m.plan.wrong == ChaosMessage::Wrong::kLkey;
  if (m.plan.wrong == ChaosMessage::Wrong::kRkey) message.rkey = 0xFFFF'FF00u + number_;
  // The channel back ends at another host than this one does.
  if (m.plan.wrong == ChaosMessage::Wrong::kForeignRkey) message.rkey = number_ ^ 1;
  return message;
}

std::optional<Finding> ChaosLane::finding(const char* oracle, size_t index,
                                          const std::string& what) const {
  return Finding{oracle, "channel " + std::to_string(number_) + ", message " +
                             std::to_string(index) + ": " + what};
}

uint32_t ChaosLane::packet_size(const State& m, uint32_t packet) const {
  return std::min(path_mtu_, m.plan.length - packet * path_mtu_);
}

std::optional<Finding> ChaosLane::placed(const Channel& channel, uint64_t offset, size_t length) {
  const auto found = std::ranges::find_if(messages_, [offset](const State& m) {
    return offset >= m.offset && offset < m.offset + m.plan.length;
  });
  if (found == messages_.end())
    return Finding{"memory", "channel " + std::to_string(number_) + ": " + std::to_string(length) +
                                 " bytes written at " + std::to_string(offset) +
                                 ", where no message lies"};
  const auto index = static_cast<size_t>(found - messages_.begin());
  const uint64_t within = offset - found->offset;
  const auto packet = static_cast<uint32_t>(within / path_mtu_);
  if (index >= posted_) return finding("memory", index, "written before it was posted");
  if (within % path_mtu_ != 0 || length != packet_size(*found, packet))
    return finding(
        "memory", index,
        std::to_string(length) + " bytes at " + std::to_string(within) + " are no packet of it");
  if (found->placed[packet])
    return finding("memory", index, "packet " + std::to_string(packet) + " written twice");
  found->placed[packet] = true;
  if (found->plan.refused_remotely() && found->plan.wrong != ChaosMessage::Wrong::kBounds)
    return finding("memory", index, "was to be refused, and was written");
  if (std::memcmp(channel.placed_bytes.data() + offset, pattern().data() + found->salt + within,
                  length) != 0)
    return finding("memory", index, "packet " + std::to_string(packet) + " has other bytes");
  return std::nullopt;
}

// Messages below `end` lie in the receiver's memory.
std::optional<Finding> ChaosLane::verify(const Channel& channel, size_t end) {
  for (; verified_ < end; ++verified_) {
    const State& m = messages_[verified_];
    if (m.plan.length == 0) continue;
    if (!std::ranges::all_of(m.placed, [](bool placed) { return placed; }))
      return finding("completion", verified_, "told of before its bytes were written");
    if (std::memcmp(channel.placed_bytes.data() + m.offset, pattern().data() + m.salt,
                    m.plan.length) != 0)
      return finding("memory", verified_, "is not what was sent");
  }
  return std::nullopt;
}

std::optional<Finding> ChaosLane::completed(Channel& channel, uint64_t id, RequestStatus status) {
  const auto index = static_cast<size_t>(id);
  if (index >= posted_) return finding("completion", index, "ended, and was not posted");
  if (index < told_) return finding("completion", index, "ended twice, or out of order");
  const bool ok = status == RequestStatus::kSuccess;
  if (ok && !messages_[index].plan.signaled)
    return finding("completion", index, "was not signaled, and its success was told");
  // Skipped: what was not signaled and so ended well without a word; never behind a failure.
  for (size_t i = told_; i < index; ++i)
    if (messages_[i].plan.signaled || first_error_)
      return finding("completion", i, "had not ended when a later one did");
  const size_t first = told_;
  told_ = index + 1;
  if (!ok) {
    ++errors_;
    if (!first_error_)
      first_error_ = Error{index, status};
    else if (status != RequestStatus::kFlushed)
      return finding("status", index, std::string("behind a failure: ") + transport::name(status));
  } else {
    if (first_error_) return finding("completion", index, "ended well behind a failure");
    const ChaosMessage& plan = messages_[index].plan;
    if (plan.refused_remotely() || plan.wrong == ChaosMessage::Wrong::kLkey)
      return finding("status", index, "ended well, and was to be refused");
  }
  const size_t well = ok ? told_ : first_error_->index;
  if (auto found = verify(channel, std::max(well, verified_))) return found;
  // The sender may use its memory again: nobody may read it any more.
  for (size_t i = first; i < well; ++i)
    std::memset(channel.source_bytes.data() + messages_[i].offset, kGivenBack,
                messages_[i].plan.length);
  return std::nullopt;
}

std::optional<Finding> ChaosLane::notified(Channel& channel, const Notice& notice) {
  while (immediate_ < messages_.size() && !messages_[immediate_].plan.immediate) ++immediate_;
  if (immediate_ >= posted_)
    return finding("immediate", immediate_, "an immediate more than was sent");
  const size_t index = immediate_++;
  const ChaosMessage& plan = messages_[index].plan;
  const uint64_t receive = notices_++;
  if (notice.immediate != immediate_of(number_, index))
    return finding("immediate", index, "has another value");
  if (notice.length != plan.length)
    return finding("immediate", index, "has length " + std::to_string(notice.length));
  if (notice.solicited != plan.solicited) return finding("immediate", index, "solicited or not");
  if (notice.receive != receive)
    return finding("immediate", index, "took receive " + std::to_string(notice.receive));
  return verify(channel, std::max(index + 1, verified_));
}

bool ChaosLane::untold_are_silent() const {
  if (first_error_) return false;
  for (size_t i = told_; i < posted_; ++i)
    if (messages_[i].plan.signaled) return false;
  return true;
}

uint64_t ChaosLane::immediates_before(size_t index) const {
  uint64_t count = 0;
  for (size_t i = 0; i < index; ++i) count += messages_[i].plan.immediate;
  return count;
}

uint64_t ChaosLane::payload() const {
  uint64_t bytes = 0;
  for (const State& m : messages_) bytes += m.plan.length;
  return bytes;
}

std::optional<Finding> ChaosLane::check_told() const {
  if (all_told()) return std::nullopt;
  return finding("completion", told_, "was never told of");
}

std::optional<Finding> ChaosLane::check_memory(const Channel& channel) const {
  const std::vector<uint8_t>& memory = channel.placed_bytes;
  std::vector<uint8_t> expected(memory.size(), kUntouched);
  for (const State& m : messages_)
    for (uint32_t p = 0; p < m.packets; ++p)
      if (m.placed[p])
        std::memcpy(expected.data() + m.offset + size_t{p} * path_mtu_,
                    pattern().data() + m.salt + size_t{p} * path_mtu_, packet_size(m, p));
  if (memory == expected) return std::nullopt;
  const auto at = std::ranges::mismatch(memory, expected).in1 - memory.begin();
  return Finding{"memory", "channel " + std::to_string(number_) + ": byte " + std::to_string(at) +
                               " was changed by nobody's packet"};
}

std::optional<Finding> ChaosLane::check_arrived(const Channel& channel) {
  return verify(channel, messages_.size());
}

}  // namespace softmrc::sim
