// The table of numeric fields, and by hand the few that are text: addresses, opcode, SRH, payload.
#include "fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/endian.h"
#include "wire/codec.h"
#include "wire/network_headers.h"

namespace softmrc::vectors {

namespace {

using nlohmann::json;
using namespace softmrc::wire;

// ---- Numbers ----

// The bits of a field's C++ value, whatever its type, and back.
template <typename T>
uint64_t bits_of(const T& v) {
  if constexpr (requires { v.value(); }) {
    return v.value();
  } else {
    return static_cast<uint64_t>(v);
  }
}
template <typename T>
T from_bits(uint64_t v) {
  if constexpr (requires(T t) { t.value(); }) {
    return T(static_cast<uint32_t>(v));
  } else {
    return static_cast<T>(v);
  }
}

constexpr uint64_t mask(unsigned bits) {
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

enum class Sign { kUnsigned, kSigned };  // signed ones may also be given as their bits

uint64_t to_number(const json& value, const std::string& key, unsigned bits, Sign sign) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number_integer()) throw FormatError(key + ": " + value.dump() + " is no integer");
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() <= mask(bits)) return value.get<uint64_t>();
  } else if (sign == Sign::kSigned &&
             value.get<int64_t>() >= -static_cast<int64_t>(mask(bits) / 2) - 1) {
    return static_cast<uint64_t>(value.get<int64_t>()) & mask(bits);
  }
  throw FormatError(key + ": " + value.dump() + " does not fit " + std::to_string(bits) + " bits");
}

std::string to_text(uint64_t value, unsigned bits, Sign sign) {
  const bool negative = sign == Sign::kSigned && (value >> (bits - 1) & 1) != 0;
  return negative ? std::to_string(static_cast<int64_t>(value | ~mask(bits)))
                  : std::to_string(value);
}

// ---- The table ----

struct Received {
  const Packet& packet;
  std::span<const uint8_t> frame;
};

struct Rule {
  const char* key;
  unsigned bits;
  Sign sign = Sign::kUnsigned;
  bool required = true;  // else the builder's default, or its computation, stands
  std::function<bool(const Packet&)> present;
  std::function<uint64_t(const Received&)> get;
  std::function<void(Values&, uint64_t)> set;
};

bool always(const Packet&) { return true; }

template <auto Member>
Rule bth(const char* key, unsigned bits, bool required = true) {
  using T = std::remove_cvref_t<decltype(Bth{}.*Member)>;
  return {key,
          bits,
          Sign::kUnsigned,
          required,
          always,
          [](const Received& r) { return bits_of(r.packet.transport.bth.*Member); },
          [](Values& v, uint64_t n) { v.transport.bth.*Member = from_bits<T>(n); }};
}

template <typename B>
bool has(const Packet& p) {
  return std::holds_alternative<B>(p.transport.body);
}

template <typename B, auto Member>
Rule body(const char* key, unsigned bits, Sign sign = Sign::kUnsigned, bool required = true) {
  using T = std::remove_cvref_t<decltype(B{}.*Member)>;
  return {key,
          bits,
          sign,
          required,
          has<B>,
          [bits](const Received& r) {
            return bits_of(std::get<B>(r.packet.transport.body).*Member) & mask(bits);
          },
          [](Values& v, uint64_t n) { std::get<B>(v.transport.body).*Member = from_bits<T>(n); }};
}

// A field of a body's TSETH, which data packets carry only if BTH.TS says so.
template <typename B, auto Member>
Rule tseth(const char* key, unsigned bits, bool required = true) {
  using T = std::remove_cvref_t<decltype(Timestamp{}.*Member)>;
  return {
      key,
      bits,
      Sign::kUnsigned,
      required,
      [](const Packet& p) { return has<B>(p) && p.has_ts; },
      [](const Received& r) { return bits_of(std::get<B>(r.packet.transport.body).ts.*Member); },
      [](Values& v, uint64_t n) { std::get<B>(v.transport.body).ts.*Member = from_bits<T>(n); }};
}

template <typename Get>
Rule computed(const char* key, unsigned bits, std::function<bool(const Packet&)> present, Get get) {
  return {key, bits, Sign::kUnsigned, false, std::move(present), get, {}};
}

// Fields above the IP header next to UDP, in the order of the wire.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"sport", 16, Sign::kUnsigned, true, always,
       [](const Received& r) { return uint64_t{r.packet.net.src_port}; },
       [](Values& v, uint64_t n) { v.net.src_port = static_cast<uint16_t>(n); }},
      {"dport", 16, Sign::kUnsigned, true, always,
       [](const Received& r) { return uint64_t{r.packet.net.dst_port}; },
       [](Values& v, uint64_t n) { v.net.dst_port = static_cast<uint16_t>(n); }},
      computed("udplen", 16, always,
               [](const Received& r) {
                 return uint64_t{load_be16(r.frame.data() + r.packet.layout.udp + 4)};
               }),
      computed("ev", 32, always, [](const Received& r) { return bits_of(r.packet.ev); }),

      bth<&Bth::solicited>("se", 1),
      bth<&Bth::mig_req>("mig", 1, false),
      computed("pad", 2, always,
               [](const Received& r) { return bits_of(r.packet.transport.bth.pad_count); }),
      bth<&Bth::version>("tver", 4, false),
      bth<&Bth::pkey>("pkey", 16, false),
      bth<&Bth::dest_qp>("dqp", 24),
      bth<&Bth::ack_request>("ack", 1),
      bth<&Bth::rtx>("rtx", 1),
      bth<&Bth::timestamp>("ts", 1),
      bth<&Bth::psn>("psn", 24),

      body<WriteHeader, &WriteHeader::rqmsn>("rqmsn", 16),
      body<WriteHeader, &WriteHeader::msn>("msn", 16),
      tseth<WriteHeader, &Timestamp::tx>("tx_ts", 16),
      tseth<WriteHeader, &Timestamp::implementation_defined>("tsr", 1, false),
      tseth<WriteHeader, &Timestamp::frame_type>("ftype", 4, false),
      body<WriteHeader, &WriteHeader::va>("va", 64),
      body<WriteHeader, &WriteHeader::rkey>("rkey", 32),
      body<WriteHeader, &WriteHeader::dma_length>("dmalen", 32),
      {"imm", 32, Sign::kUnsigned, true,
       [](const Packet& p) { return has_immediate(p.transport.bth.opcode); },
       [](const Received& r) {
         return uint64_t{std::get<WriteHeader>(r.packet.transport.body).immediate};
       },
       [](Values& v, uint64_t n) {
         std::get<WriteHeader>(v.transport.body).immediate = static_cast<uint32_t>(n);
       }},

      body<AckHeader, &AckHeader::syndrome>("syndrome", 8),
      body<AckHeader, &AckHeader::msn>("amsn", 24),

      body<SackHeader, &SackHeader::mark>("m", 2),
      body<SackHeader, &SackHeader::probe_response>("pr", 1),
      body<SackHeader, &SackHeader::ack_psn_offset>("ack_off", 16, Sign::kSigned),
      body<SackHeader, &SackHeader::entropy>("entropy", 32),
      body<SackHeader, &SackHeader::src_context>("sctx", 16),
      body<SackHeader, &SackHeader::dst_context>("dctx", 16),
      body<SackHeader, &SackHeader::cack_psn>("cack", 24),
      body<SackHeader, &SackHeader::cc_type>("cc_type", 4, Sign::kUnsigned, false),
      body<SackHeader, &SackHeader::cc_flags>("cc_fl", 4, Sign::kUnsigned, false),
      body<SackHeader, &SackHeader::mpr>("mpr", 8),
      body<SackHeader, &SackHeader::sack_offset>("sack_off", 16, Sign::kSigned),
      body<SackHeader, &SackHeader::bitmap>("bitmap", 64),
      body<SackHeader, &SackHeader::tx_timestamp>("tx_ts", 16),
      body<SackHeader, &SackHeader::ooo_count>("ooo", 15),
      body<SackHeader, &SackHeader::restore_cwnd>("restore", 1),
      body<SackHeader, &SackHeader::rcv_cwnd_pen>("pen", 7),
      body<SackHeader, &SackHeader::rcvd_bytes>("rcvd", 24),

      body<NackHeader, &NackHeader::reason>("reason", 8),
      body<NackHeader, &NackHeader::vendor_info>("vendor", 8, Sign::kUnsigned, false),
      body<NackHeader, &NackHeader::entropy>("entropy", 32),
      body<NackHeader, &NackHeader::src_context>("sctx", 16),
      body<NackHeader, &NackHeader::dst_context>("dctx", 16),
      body<NackHeader, &NackHeader::psn>("nack_psn", 24),
      body<NackHeader, &NackHeader::cc_type>("cc_type", 4, Sign::kUnsigned, false),
      body<NackHeader, &NackHeader::cc_flags>("cc_fl", 4, Sign::kUnsigned, false),
      body<NackHeader, &NackHeader::tx_timestamp>("tx_ts", 16),

      body<ProbeHeader, &ProbeHeader::vendor_info>("vendor", 8, Sign::kUnsigned, false),
      body<ProbeHeader, &ProbeHeader::probe_id>("probe_id", 16),
      body<ProbeHeader, &ProbeHeader::src_context>("sctx", 16),
      body<ProbeHeader, &ProbeHeader::dst_context>("dctx", 16),
      tseth<ProbeHeader, &Timestamp::tx>("tx_ts", 16),
      tseth<ProbeHeader, &Timestamp::implementation_defined>("tsr", 1, false),
      tseth<ProbeHeader, &Timestamp::frame_type>("ftype", 4, false),

      // The identifier of an endpoint operation is BTH.PSN bits 15..0.
      computed(
          "probe_id", 16,
          [](const Packet& p) { return has<EndpointRequest>(p) || has<EndpointResponse>(p); },
          [](const Received& r) { return uint64_t{r.packet.transport.bth.psn.value() & 0xFFFF}; }),
      body<EndpointRequest, &EndpointRequest::op>("ep_op", 2),
      body<EndpointRequest, &EndpointRequest::vendor_info>("vendor", 8, Sign::kUnsigned, false),
      body<EndpointRequest, &EndpointRequest::port_status_mask>("port_mask", 32),
      tseth<EndpointRequest, &Timestamp::tx>("tx_ts", 16),
      tseth<EndpointRequest, &Timestamp::implementation_defined>("tsr", 1, false),
      tseth<EndpointRequest, &Timestamp::frame_type>("ftype", 4, false),
      body<EndpointResponse, &EndpointResponse::op>("ep_op", 2),
      body<EndpointResponse, &EndpointResponse::tx_timestamp>("tx_ts", 16),
  };
  return kRules;
}

struct IpRule {
  const char* key;
  unsigned bits;
  std::function<uint64_t(const IpHeader&)> get;
  std::function<void(IpHeader&, uint64_t)> set;
};

template <auto Member>
IpRule ip_number(const char* key, unsigned bits) {
  using T = std::remove_cvref_t<decltype(IpHeader{}.*Member)>;
  return {key, bits, [](const IpHeader& ip) { return bits_of(ip.*Member); },
          [](IpHeader& ip, uint64_t n) { ip.*Member = from_bits<T>(n); }};
}

const std::array<IpRule, 4>& ip_rules() {
  static const std::array<IpRule, 4> kRules = {
      ip_number<&IpHeader::dscp>("dscp", 6), ip_number<&IpHeader::ecn>("ecn", 2),
      ip_number<&IpHeader::flow_label>("fl", 20), ip_number<&IpHeader::hop_limit>("hl", 8)};
  return kRules;
}

// ---- Text ----

const json& required(const json& fields, const std::string& key) {
  const auto it = fields.find(key);
  if (it == fields.end()) throw FormatError("field \"" + key + "\" is missing");
  return *it;
}
std::string text(const json& value, const std::string& key) {
  if (!value.is_string()) throw FormatError(key + ": " + value.dump() + " is no text");
  return value.get<std::string>();
}
std::vector<uint8_t> hex(const json& value, const std::string& key) {
  try {
    return from_hex(text(value, key));
  } catch (const FormatError& e) {
    throw FormatError(key + ": " + e.what());
  }
}
MacAddress mac(const json& value, const std::string& key) {
  const auto parsed = parse_mac(text(value, key));
  if (!parsed) throw FormatError(key + ": " + value.dump() + " is no MAC address");
  return *parsed;
}
IpAddress address(const json& value, const std::string& key) {
  const auto parsed = parse_ip(text(value, key));
  if (!parsed) throw FormatError(key + ": " + value.dump() + " is no IP address");
  return *parsed;
}
Opcode opcode(const json& value) {
  const std::string wanted = text(value, "op");
  for (unsigned n = 0; n < 256; ++n) {
    const auto op = static_cast<Opcode>(n);
    if (is_mrc(op) && wanted == name(op)) return op;
  }
  throw FormatError("op: \"" + wanted + "\" is no MRC opcode");
}

Body empty_body(Opcode op) {
  switch (op) {
    case Opcode::kAck:
      return AckHeader{};
    case Opcode::kSack:
      return SackHeader{};
    case Opcode::kNack:
      return NackHeader{};
    case Opcode::kProbe:
      return ProbeHeader{};
    case Opcode::kEndpointRequest:
      return EndpointRequest{};
    case Opcode::kEndpointResponse:
      return EndpointResponse{};
    default:
      return WriteHeader{};
  }
}

const json& outer_of(const json& fields) {
  const json& outer = required(fields, "outer");
  if (!outer.is_object()) throw FormatError("outer: " + outer.dump() + " is no object");
  return outer;
}

// The IPv6 or IPv4 header whose keys stand in `object`.
IpHeader to_ip(const json& object, const std::string& prefix, Ecn default_ecn) {
  IpHeader ip;
  ip.ecn = default_ecn;
  ip.src = address(required(object, "src"), prefix + "src");
  ip.dst = address(required(object, "dst"), prefix + "dst");
  for (const IpRule& rule : ip_rules()) {
    const auto n = number(object, rule.key, rule.bits);
    if (n) rule.set(ip, *n);
  }
  required(object, "dscp");
  if (!ip.dst.is_v4()) required(object, "fl");
  return ip;
}

HeaderView<kSrhSize> srh_view(const std::vector<uint8_t>& bytes) {
  if (bytes.size() < kSrhSize) throw FormatError("srh: shorter than an SRH of one segment");
  return HeaderView<kSrhSize>(bytes.data(), kSrhSize);
}

// ---- Comparison ----

// Collects the keys that were looked at, and stops at the first difference.
class Comparison {
 public:
  explicit Comparison(const json& fields, std::string prefix = {})
      : fields_(fields), prefix_(std::move(prefix)) {}

  // `got` gives the value as the file writes it, or nullopt where the packet has none; `same`
  // compares with the expected one.
  template <typename Got, typename Same>
  void check(const std::string& key, Got got, Same same) {
    const auto it = fields_.find(key);
    if (it == fields_.end() || found_) return;
    seen_.insert(key);
    if (!same(*it))
      found_ = {prefix_ + key, it->is_string() ? it->get<std::string>() : it->dump(), got()};
  }
  void take(std::optional<Difference> inner, const std::string& key) {
    seen_.insert(key);
    if (!found_) found_ = std::move(inner);
  }
  std::optional<Difference> result() const {
    if (found_) return found_;
    for (const auto& [key, value] : fields_.items()) {
      if (seen_.count(key) == 0)
        return Difference{prefix_ + key, value.dump(), "no such field in this packet"};
    }
    return std::nullopt;
  }
  void seen(const std::string& key) { seen_.insert(key); }
  bool done() const { return found_.has_value(); }

 private:
  const json& fields_;
  std::string prefix_;
  std::set<std::string> seen_;
  std::optional<Difference> found_;
};

void compare_ip(Comparison& c, const IpHeader& ip, const std::string& prefix) {
  for (const auto& [key, got] : {std::pair{"src", ip.src}, std::pair{"dst", ip.dst}}) {
    c.check(
        key, [&got = got] { return to_string(got); },
        [&, &got = got, &key = key](const json& e) { return address(e, prefix + key) == got; });
  }
  for (const IpRule& rule : ip_rules()) {
    const uint64_t got = rule.get(ip);
    c.check(
        rule.key, [&] { return std::to_string(got); },
        [&](const json& e) {
          return to_number(e, prefix + rule.key, rule.bits, Sign::kUnsigned) == got;
        });
  }
}

std::optional<Difference> compare_payload(std::span<const uint8_t> expected,
                                          std::span<const uint8_t> got) {
  if (expected.size() != got.size()) {
    return Difference{"payload", std::to_string(expected.size()) + " bytes",
                      std::to_string(got.size()) + " bytes"};
  }
  const auto [e, g] = std::ranges::mismatch(expected, got);
  if (e == expected.end()) return std::nullopt;
  return Difference{"payload[" + std::to_string(e - expected.begin()) + "]", std::to_string(*e),
                    std::to_string(*g)};
}

}  // namespace

std::optional<uint64_t> number(const json& fields, const char* key, unsigned bits) {
  const auto it = fields.find(key);
  if (it == fields.end()) return std::nullopt;
  return to_number(*it, key, bits, Sign::kUnsigned);
}

Values to_values(const json& fields) {
  Values v;
  Bth& bth = v.transport.bth;
  bth.opcode = opcode(required(fields, "op"));
  v.transport.body = empty_body(bth.opcode);
  v.net.dst_mac = mac(required(fields, "dmac"), "dmac");
  v.net.src_mac = mac(required(fields, "smac"), "smac");

  const Ecn default_ecn = is_write(bth.opcode) ? Ecn::kEct0 : Ecn::kNotEct;
  v.net.ip = to_ip(fields, "", default_ecn);
  if (fields.contains("outer")) v.net.outer = to_ip(outer_of(fields), "outer.", default_ecn);
  if (fields.contains("srh")) {
    if (!v.net.outer) throw FormatError("srh without outer");
    decode_srh(srh_view(hex(fields["srh"], "srh")), v.net.srh.emplace());
  }
  if (is_write(bth.opcode)) v.payload = hex(required(fields, "payload"), "payload");

  Packet shape;  // what the rules' `present` look at
  shape.transport = v.transport;
  const bool data = is_write(bth.opcode);
  shape.has_ts = data ? number(fields, "ts", 1).value_or(0) != 0 : true;
  for (const Rule& rule : rules()) {
    if (!rule.set || !rule.present(shape)) continue;
    if (rule.required) required(fields, rule.key);
    if (fields.contains(rule.key)) {
      rule.set(v, to_number(fields[rule.key], rule.key, rule.bits, rule.sign));
    }
  }
  return v;
}

std::optional<Difference> compare(const json& fields, const Packet& packet,
                                  std::span<const uint8_t> frame) {
  const NetworkHeaders& net = packet.net;
  Comparison c(fields);
  for (const auto& [key, got] : {std::pair{"dmac", net.dst_mac}, std::pair{"smac", net.src_mac}}) {
    c.check(
        key, [&got = got] { return to_string(got); },
        [&got = got, &key = key](const json& e) { return mac(e, key) == got; });
  }

  // Above Ethernet. An outer header is there if and only if the fields say so.
  if (net.outer && !fields.contains("outer")) return Difference{"outer", "absent", "present"};
  if (fields.contains("outer")) {
    if (!net.outer) return Difference{"outer", "present", "absent"};
    Comparison outer(outer_of(fields), "outer.");
    compare_ip(outer, *net.outer, "outer.");
    c.take(outer.result(), "outer");
  }
  const std::span<const uint8_t> srh =
      net.srh
          ? frame.subspan(kEthernetSize + kIpv6Size, packet.layout.ip - kEthernetSize - kIpv6Size)
          : std::span<const uint8_t>{};
  if (net.srh && !fields.contains("srh")) return Difference{"srh", "absent", "present"};
  c.check(
      "srh", [&] { return to_hex(srh.data(), srh.size()); },
      [&](const json& e) {
        const std::vector<uint8_t> expected = hex(e, "srh");
        return net.srh && std::ranges::equal(expected, srh);
      });
  compare_ip(c, net.ip, "");

  c.check(
      "op", [&] { return std::string(name(packet.transport.bth.opcode)); },
      [&](const json& e) { return opcode(e) == packet.transport.bth.opcode; });
  const Received received{packet, frame};
  for (const Rule& rule : rules()) {
    if (!rule.present(packet)) continue;
    const uint64_t got = rule.get(received);
    c.check(
        rule.key, [&] { return to_text(got, rule.bits, rule.sign); },
        [&](const json& e) { return to_number(e, rule.key, rule.bits, rule.sign) == got; });
  }
  if (!c.done() && fields.contains("payload")) {
    c.take(compare_payload(hex(fields["payload"], "payload"), packet.payload), "payload");
  }

  const bool trimmed = fields.contains("trimmed") && fields["trimmed"] == true;
  c.seen("trimmed");
  if (!c.done() && trimmed != packet.trimmed) {
    return Difference{"trimmed", trimmed ? "true" : "false", packet.trimmed ? "true" : "false"};
  }
  return c.result();
}

}  // namespace softmrc::vectors
