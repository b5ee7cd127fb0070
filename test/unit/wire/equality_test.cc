// Packets as values: a change of any one field makes them unequal. The round trips of the codec,
// and every test that compares packets, see no more than this.
#include <catch2/catch.hpp>

#include "samples.h"

namespace softmrc::wire {
namespace {

// Every change makes `value` unequal to what it was.
template <typename T, typename... Changes>
void each_field_counts(const T& value, Changes... changes) {
  CHECK(value == T(value));
  int field = 0;
  const auto check = [&](auto change) {
    INFO("field " << field++);
    T other = value;
    change(other);
    CHECK_FALSE(other == value);
    CHECK(other != value);
  };
  (check(changes), ...);
}

TEST_CASE("every field of a network header counts") {
  each_field_counts(
      TrafficClasses{}, [](auto& c) { ++c.no_trim; }, [](auto& c) { ++c.trimmable; },
      [](auto& c) { ++c.trimmable_retx; }, [](auto& c) { ++c.trimmed; },
      [](auto& c) { ++c.trimmed_lasthop; }, [](auto& c) { ++c.control; });
  each_field_counts(
      IpHeader{}, [](auto& h) { h.src = *parse_ip("fd00::1"); },
      [](auto& h) { h.dst = *parse_ip("fd00::2"); }, [](auto& h) { ++h.flow_label; },
      [](auto& h) { ++h.dscp; }, [](auto& h) { h.ecn = Ecn::kCe; }, [](auto& h) { ++h.hop_limit; });
  each_field_counts(
      Srh{}, [](auto& h) { h.segment = *parse_ip("fcbb:bb00::1"); },
      [](auto& h) { ++h.segments_left; });
  each_field_counts(
      NetworkHeaders{}, [](auto& n) { n.dst_mac.bytes[5] ^= 1; },
      [](auto& n) { n.src_mac.bytes[0] ^= 1; }, [](auto& n) { n.outer.emplace(); },
      [](auto& n) { n.srh.emplace(); }, [](auto& n) { ++n.ip.hop_limit; },
      [](auto& n) { ++n.src_port; }, [](auto& n) { ++n.dst_port; });
}

TEST_CASE("every field of BTH counts") {
  each_field_counts(
      Bth{}, [](auto& b) { b.opcode = Opcode::kAck; }, [](auto& b) { b.solicited = true; },
      [](auto& b) { b.mig_req = !b.mig_req; }, [](auto& b) { ++b.pad_count; },
      [](auto& b) { ++b.version; }, [](auto& b) { --b.pkey; }, [](auto& b) { b.dest_qp = Qpn(7); },
      [](auto& b) { b.ack_request = true; }, [](auto& b) { b.rtx = true; },
      [](auto& b) { b.timestamp = true; }, [](auto& b) { ++b.psn; });
}

TEST_CASE("every field of an extension header counts") {
  each_field_counts(
      Timestamp{}, [](auto& t) { ++t.tx; }, [](auto& t) { t.implementation_defined = true; },
      [](auto& t) { ++t.frame_type; });
  each_field_counts(
      WriteHeader{}, [](auto& w) { w.rqmsn = RqMsn(1); }, [](auto& w) { w.msn = Msn(1); },
      [](auto& w) { ++w.ts.tx; }, [](auto& w) { ++w.va; }, [](auto& w) { ++w.rkey; },
      [](auto& w) { ++w.dma_length; }, [](auto& w) { ++w.immediate; });
  each_field_counts(
      AckHeader{}, [](auto& a) { ++a.syndrome; }, [](auto& a) { ++a.msn; });
  each_field_counts(
      SackHeader{}, [](auto& s) { s.mark = PathMark::kSkipOnce; },
      [](auto& s) { s.probe_response = true; }, [](auto& s) { ++s.ack_psn_offset; },
      [](auto& s) { s.entropy = Ev(1); }, [](auto& s) { ++s.src_context; },
      [](auto& s) { ++s.dst_context; }, [](auto& s) { ++s.cack_psn; }, [](auto& s) { ++s.cc_type; },
      [](auto& s) { ++s.cc_flags; }, [](auto& s) { ++s.mpr; }, [](auto& s) { ++s.sack_offset; },
      [](auto& s) { ++s.bitmap; }, [](auto& s) { ++s.tx_timestamp; },
      [](auto& s) { ++s.ooo_count; }, [](auto& s) { s.restore_cwnd = true; },
      [](auto& s) { ++s.rcv_cwnd_pen; }, [](auto& s) { ++s.rcvd_bytes; });
  each_field_counts(
      NackHeader{}, [](auto& n) { ++n.reason; }, [](auto& n) { ++n.vendor_info; },
      [](auto& n) { n.entropy = Ev(1); }, [](auto& n) { ++n.src_context; },
      [](auto& n) { ++n.dst_context; }, [](auto& n) { ++n.psn; }, [](auto& n) { ++n.cc_type; },
      [](auto& n) { ++n.cc_flags; }, [](auto& n) { ++n.tx_timestamp; });
  each_field_counts(
      ProbeHeader{}, [](auto& p) { ++p.vendor_info; }, [](auto& p) { ++p.probe_id; },
      [](auto& p) { ++p.src_context; }, [](auto& p) { ++p.dst_context; },
      [](auto& p) { ++p.ts.tx; });
  each_field_counts(
      EndpointRequest{}, [](auto& r) { ++r.op; }, [](auto& r) { ++r.vendor_info; },
      [](auto& r) { ++r.port_status_mask; }, [](auto& r) { ++r.ts.tx; });
  each_field_counts(
      EndpointResponse{}, [](auto& r) { ++r.op; }, [](auto& r) { ++r.tx_timestamp; });
}

TEST_CASE("every part of whole headers counts, and where they lie") {
  each_field_counts(
      TransportHeaders{}, [](auto& t) { ++t.bth.psn; }, [](auto& t) { t.body = AckHeader{}; },
      [](auto& t) { std::get<WriteHeader>(t.body).va = 1; });
  each_field_counts(
      FrameLayout{}, [](auto& l) { ++l.ip; }, [](auto& l) { ++l.udp; }, [](auto& l) { ++l.icrc; });
}

}  // namespace
}  // namespace softmrc::wire
