#include "dataplane/packet_builder.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/prefetch.h"
#include "dataplane/zero_copy.h"
#include "wire/codec.h"

namespace softmrc::dataplane {

namespace {

constexpr uint32_t kMinFrame = 60;  // Ethernet, without FCS
// [D] Lending costs some 100 ns of bookkeeping; below this, and for scattered payload, copying is
// cheaper.
constexpr uint32_t kMinLent = 1024;
constexpr uint8_t kMaxLentSegments = 2;
constexpr size_t kLentMbufs = 1 + kMaxLentSegments + 1;

}  // namespace

// A frame under construction.
class PacketBuilder::Chain {
 public:
  Chain(PacketBuilder& builder, rte_mbuf* head)
      : builder_(builder), head_(head), last_(rte_pktmbuf_lastseg(head)) {}

  rte_mbuf* head() const { return head_; }
  uint32_t size() const { return head_->pkt_len; }

  // Room for the headers, which stand in one piece; commit what was written.
  uint8_t* front() { return rte_pktmbuf_mtod(head_, uint8_t*); }
  // The same at the end; nullptr: there are not so many bytes left in the last mbuf.
  uint8_t* room_for(uint32_t size) {
    if (builder_.data_room_ - last_->data_len < size) return nullptr;
    return rte_pktmbuf_mtod_offset(last_, uint8_t*, last_->data_len);
  }
  void commit(size_t size) { grow(static_cast<uint32_t>(size)); }

  // Appends a copy, over further mbufs if need be.
  void append(const uint8_t* data, uint32_t size) {
    while (size > 0) {
      if (last_->data_len == builder_.data_room_) attach(builder_.take());
      uint8_t* to = rte_pktmbuf_mtod_offset(last_, uint8_t*, last_->data_len);
      const uint32_t piece = std::min<uint32_t>(size, builder_.data_room_ - last_->data_len);
      std::memcpy(to, data, piece);
      grow(piece);
      data += piece;
      size -= piece;
    }
  }

  void append_lent(const transport::Segment& segment, rte_mbuf_ext_shared_info* loan) {
    rte_mbuf* mbuf = builder_.take();
    // Read only: nobody writes through an external buffer of ours.
    auto* data = const_cast<uint8_t*>(segment.data);
    rte_pktmbuf_attach_extbuf(mbuf, data, reinterpret_cast<rte_iova_t>(data),
                              static_cast<uint16_t>(segment.length), loan);
    attach(mbuf);
    grow(segment.length);
  }
  void begin_mbuf() { attach(builder_.take()); }

 private:
  void attach(rte_mbuf* mbuf) {
    last_->next = mbuf;
    last_ = mbuf;
    ++head_->nb_segs;
  }
  void grow(uint32_t size) {
    last_->data_len = static_cast<uint16_t>(last_->data_len + size);
    head_->pkt_len += size;
  }

  PacketBuilder& builder_;
  rte_mbuf* const head_;
  rte_mbuf* last_;
};

PacketBuilder::PacketBuilder(rte_mempool* pool, uint32_t data_room, uint32_t max_frame,
                             ZeroCopyLoans* loans)
    : pool_(pool),
      data_room_(data_room),
      mbufs_per_packet_(std::max<size_t>((max_frame + data_room - 1) / data_room,
                                         loans == nullptr ? 1 : kLentMbufs)),
      loans_(loans) {}

PacketBuilder::~PacketBuilder() {
  rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(stock_.data()),
                       static_cast<unsigned>(stock_.size()));
}

size_t PacketBuilder::prepare(size_t packets) {
  const size_t want = packets * mbufs_per_packet_;
  const size_t have = stock_.size();
  if (have < want) {
    // Scarce: at least one packet, so that an acknowledgement can leave and free others.
    if (!stock_up(have, want) && !stock_up(have, std::max(have, mbufs_per_packet_)))
      stock_.resize(have);
  }
  return std::min(packets, stock_.size() / mbufs_per_packet_);
}

// Whoever freed an mbuf, often on another core, wrote to it last: it is fetched now, and written
// when it is taken.
bool PacketBuilder::stock_up(size_t have, size_t want) {
  stock_.resize(want);
  const auto added = std::span(stock_).subspan(have);
  if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(added.data()),
                           static_cast<unsigned>(added.size())) != 0)
    return false;
  for (rte_mbuf* mbuf : added) {
    prefetch_for_write(mbuf);
    prefetch_for_write(&mbuf->next);
  }
  return true;
}

// The next packet is most likely as long as this one.
void PacketBuilder::fetch_next_room(uint32_t payload_size) {
  if (stock_.empty()) return;
  const rte_mbuf* mbuf = stock_.back();
  prefetch_for_write(static_cast<uint8_t*>(mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM,
                     std::min(wire::kMaxHeaderSize + payload_size, size_t{data_room_}));
}

rte_mbuf* PacketBuilder::take() {
  rte_mbuf* mbuf = stock_.back();
  stock_.pop_back();
  rte_pktmbuf_reset(mbuf);
  return mbuf;
}

PacketBuilder::Draft PacketBuilder::begin(const Plane& plane, transport::TxPacket& packet) {
  packet.net.set_macs(plane.dst, plane.src);
  Chain chain(*this, take());
  chain.commit(
      wire::build_headers(packet.net, packet.transport, packet.payload_size, chain.front()));
  fetch_next_room(packet.payload_size);
  const bool lent = plane.lend && lend_payload(packet, chain);
  if (!lent) copy_payload(packet, chain);
  return {chain.head(), !lent};
}

void PacketBuilder::finish(const Draft& draft, const transport::TxPacket& packet) {
  const rte_mbuf* const head = draft.frame;
  const uint8_t* const headers = rte_pktmbuf_mtod(head, const uint8_t*);
  wire::Icrc icrc;
  const size_t covered = wire::start_icrc(packet.net, headers, packet.icrc, icrc);
  icrc.update(headers + covered, head->data_len - covered);
  for (const rte_mbuf* piece = head->next; piece != nullptr; piece = piece->next)
    icrc.update(rte_pktmbuf_mtod(piece, const uint8_t*), piece->data_len);

  Chain chain(*this, draft.frame);
  if (uint8_t* const end = chain.room_for(wire::kMaxTailSize)) {
    chain.commit(wire::build_tail(packet.payload_size, icrc, end));
  } else {
    std::array<uint8_t, wire::kMaxTailSize> tail;
    const size_t tail_size = wire::build_tail(packet.payload_size, icrc, tail.data());
    chain.append(tail.data(), static_cast<uint32_t>(tail_size));
  }
  if (chain.size() < kMinFrame) {
    static constexpr std::array<uint8_t, kMinFrame> kZeros{};
    chain.append(kZeros.data(), kMinFrame - chain.size());
  }
}

void PacketBuilder::copy_payload(const transport::TxPacket& packet, Chain& chain) {
  for (uint8_t i = 0; i < packet.segment_count; ++i)
    chain.append(packet.segments[i].data, packet.segments[i].length);
}

bool PacketBuilder::lend_payload(const transport::TxPacket& packet, Chain& chain) {
  if (packet.payload_size < kMinLent || packet.segment_count > kMaxLentSegments) return false;
  rte_mbuf_ext_shared_info* loan = loans_->begin(packet.token, packet.segment_count);
  if (loan == nullptr) return false;
  for (uint8_t i = 0; i < packet.segment_count; ++i) chain.append_lent(packet.segments[i], loan);
  chain.begin_mbuf();  // for pad and ICRC
  return true;
}

}  // namespace softmrc::dataplane
