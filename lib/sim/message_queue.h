// The messages a yardstick QP has posted, cut into packets: which bytes of which message the packet
// of a number carries, and which messages have ended once all packets below a number have arrived.
// Packets count from 0 over the life of the QP.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "sim/endpoint.h"
#include "wire/packet.h"

namespace softmrc::sim {

class MessageQueue {
 public:
  explicit MessageQueue(uint32_t path_mtu) : path_mtu_(path_mtu) {}

  struct Piece {
    const Message* message;
    uint64_t offset;  // of the payload, in the channel
    uint32_t length;
    wire::Opcode opcode;
    uint32_t msn;
  };

  void post(const Message& message) {
    // A message without payload is a packet too.
    const uint32_t packets = std::max((message.length + path_mtu_ - 1) / path_mtu_, 1u);
    entries_.push_back({message, end_, packets, posted_++});
    end_ += packets;
  }
  size_t size() const { return entries_.size(); }
  uint64_t end() const { return end_; }  // behind the last packet posted

  // `number` belongs to a message that has not been taken out.
  Piece piece(uint64_t number) const {
    const auto next =
        std::upper_bound(entries_.begin(), entries_.end(), number,
                         [](uint64_t wanted, const Entry& entry) { return wanted < entry.first; });
    const Entry& entry = *std::prev(next);
    const uint64_t at = (number - entry.first) * path_mtu_;
    Piece piece{&entry.message, entry.message.offset + at, 0, wire::Opcode::kWriteMiddle,
                entry.msn};
    piece.length = static_cast<uint32_t>(std::min<uint64_t>(path_mtu_, entry.message.length - at));
    const bool first = number == entry.first, last = number + 1 == entry.first + entry.packets;
    const bool notify = entry.message.notify;
    if (first && last)
      piece.opcode = notify ? wire::Opcode::kWriteOnlyImm : wire::Opcode::kWriteOnly;
    else if (first)
      piece.opcode = wire::Opcode::kWriteFirst;
    else if (last)
      piece.opcode = notify ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteLast;
    return piece;
  }

  // Takes out the oldest message if all its packets lie below `arrived`.
  bool take_done(uint64_t arrived, Message& out) {
    if (entries_.empty() || entries_.front().first + entries_.front().packets > arrived)
      return false;
    out = entries_.front().message;
    entries_.pop_front();
    return true;
  }
  bool take_any(Message& out) { return take_done(UINT64_MAX, out); }

 private:
  struct Entry {
    Message message;
    uint64_t first;  // packet
    uint32_t packets;
    uint32_t msn;
  };
  uint32_t path_mtu_;
  uint32_t posted_ = 0;
  uint64_t end_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace softmrc::sim
