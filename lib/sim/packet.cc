#include "sim/packet.h"

#include <utility>

namespace softmrc::sim {

Packet* PacketPool::take() {
  if (first_free_ == nullptr) {
    slabs_.push_back(std::make_unique<Packet[]>(kSlab));
    for (size_t i = kSlab; i > 0; --i) {
      Packet& packet = slabs_.back()[i - 1];
      packet.next = first_free_;
      first_free_ = &packet;
    }
    made_ += kSlab;
    free_ += kSlab;
  }
  auto* packet = static_cast<Packet*>(first_free_);
  first_free_ = packet->next;
  packet->next = nullptr;
  --free_;
  packet->from = nullptr;
  packet->trimmed = packet->corrupt = packet->control = false;
  packet->hop_limit = wire::kDefaultHopLimit;
  return packet;
}

void PacketPool::give_back(Packet* packet) {
  packet->next = first_free_;
  first_free_ = packet;
  ++free_;
}

}  // namespace softmrc::sim
