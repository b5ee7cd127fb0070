// One list of (name, width in bits) per header, in the order of the wire.
// Rule: doc/protocol.md, "Headers".
#include "frame_map.h"

#include <initializer_list>

#include "vector_file.h"
#include "wire/layout.h"

namespace softmrc::vectors {

namespace {

using namespace softmrc::wire;

struct Width {
  const char* name;
  size_t bits;
};

class Map {
 public:
  void add(const std::string& name, size_t bits) {
    if (bits > 0) places_.push_back({name, bit_, bits});
    bit_ += bits;
  }
  void add(std::initializer_list<Width> fields, const std::string& prefix = "") {
    for (const Width& f : fields) add(prefix + f.name, f.bits);
  }
  std::vector<FieldPlace> take() { return std::move(places_); }

 private:
  std::vector<FieldPlace> places_;
  size_t bit_ = 0;
};

void add_ipv6(Map& map, const std::string& prefix) {
  map.add({{"version", 4},
           {"dscp", 6},
           {"ecn", 2},
           {"fl", 20},
           {"payload length", 16},
           {"next header", 8},
           {"hl", 8},
           {"src", 128},
           {"dst", 128}},
          prefix);
}

void add_ipv4(Map& map) {
  map.add({{"version", 4},
           {"header length", 4},
           {"dscp", 6},
           {"ecn", 2},
           {"total length", 16},
           {"identification", 16},
           {"fragment", 16},
           {"hl", 8},
           {"protocol", 8},
           {"header checksum", 16},
           {"src", 32},
           {"dst", 32}});
}

void add_tseth(Map& map) { map.add({{"tx_ts", 16}, {"tsr", 1}, {"reserved", 11}, {"ftype", 4}}); }

struct BodyMap {
  Map& map;
  const Bth& bth;

  void operator()(const WriteHeader&) const {
    map.add({{"rqmsn", 16}, {"msn", 16}});
    if (bth.timestamp) add_tseth(map);
    map.add({{"va", 64}, {"rkey", 32}, {"dmalen", 32}});
    if (has_immediate(bth.opcode)) map.add("imm", 32);
  }
  void operator()(const AckHeader&) const { map.add({{"syndrome", 8}, {"amsn", 24}}); }
  void operator()(const SackHeader&) const {
    map.add({{"SETH type and next", 9},
             {"m", 2},
             {"reserved", 3},
             {"pr", 1},
             {"reserved", 1},
             {"ack_off", 16},
             {"entropy", 32},
             {"sctx", 16},
             {"dctx", 16},
             {"reserved", 8},
             {"cack", 24},
             {"cc_type", 4},
             {"cc_fl", 4},
             {"mpr", 8},
             {"sack_off", 16},
             {"bitmap", 64},
             {"tx_ts", 16},
             {"reserved", 1},
             {"ooo", 15},
             {"restore", 1},
             {"pen", 7},
             {"rcvd", 24}});
  }
  void operator()(const NackHeader&) const {
    map.add({{"reserved", 16},
             {"reason", 8},
             {"vendor", 8},
             {"entropy", 32},
             {"sctx", 16},
             {"dctx", 16},
             {"reserved", 8},
             {"nack_psn", 24},
             {"cc_type", 4},
             {"cc_fl", 4},
             {"reserved", 8},
             {"tx_ts", 16}});
  }
  void operator()(const ProbeHeader&) const {
    map.add({{"reserved", 24},
             {"vendor", 8},
             {"probe_id", 16},
             {"reserved", 16},
             {"sctx", 16},
             {"dctx", 16}});
    add_tseth(map);
  }
  void operator()(const EndpointRequest&) const {
    map.add({{"reserved", 14},
             {"ep_op", 2},
             {"reserved", 8},
             {"vendor", 8},
             {"port_mask", 32},
             {"reserved", 32}});
    add_tseth(map);
  }
  void operator()(const EndpointResponse&) const {
    map.add({{"reserved", 12}, {"ep_op", 2}, {"reserved", 210}, {"tx_ts", 16}, {"reserved", 48}});
  }
};

}  // namespace

std::vector<FieldPlace> map_frame(const NetworkHeaders& net, const TransportHeaders& transport,
                                  size_t payload_size) {
  Map map;
  map.add({{"dmac", 48}, {"smac", 48}, {"EtherType", 16}});
  if (net.outer) add_ipv6(map, "outer.");
  if (net.outer && net.srh) map.add("srh", 8 * kSrhSize);
  if (net.ip.dst.is_v4()) {
    add_ipv4(map);
  } else {
    add_ipv6(map, "");
  }
  map.add({{"sport", 16}, {"dport", 16}, {"udplen", 16}, {"UDP checksum", 16}});
  map.add({{"op", 8},
           {"se", 1},
           {"mig", 1},
           {"pad", 2},
           {"tver", 4},
           {"pkey", 16},
           {"BTH reserved", 8},
           {"dqp", 24},
           {"ack", 1},
           {"BTH reserved", 1},
           {"rtx", 1},
           {"ts", 1},
           {"BTH reserved", 4},
           {"psn", 24}});
  std::visit(BodyMap{map, transport.bth}, transport.body);
  for (size_t i = 0; i < payload_size; ++i) map.add("payload[" + std::to_string(i) + "]", 8);
  map.add("pad bytes", 8 * size_t{pad_count(payload_size)});
  map.add("icrc", 8 * kIcrcSize);
  return map.take();
}

std::string value_at(const FieldPlace& place, std::span<const uint8_t> frame) {
  if (place.bit + place.bits > 8 * frame.size()) return "nothing (the frame has ended)";
  if (place.bits > 64) return to_hex(frame.data() + place.bit / 8, place.bits / 8);
  uint64_t value = 0;
  for (size_t bit = place.bit; bit < place.bit + place.bits; ++bit) {
    value = value << 1 | (frame[bit / 8] >> (7 - bit % 8) & 1u);
  }
  return std::to_string(value);
}

}  // namespace softmrc::vectors
