#include "ends.h"

#include <catch2/catch.hpp>
#include <optional>

#include "config/node_config.h"
#include "dataplane/node.h"

namespace test {

namespace {

// Two seconds: a process that waits for a core that long has not lost anything.
constexpr uint8_t kTimeout = 19;

std::string node_file(const std::string& run, const std::string& name, bool server,
                      const std::string& link) {
  const std::string own = server ? "a" : "b", peer = server ? "b" : "a";
  return "name: " + name + "\ngids: [\"fd00:0:0:" + own + "::1\"]\nstate_directory: \"" + run +
         "/state-" + name +
         "\"\nback_to_back: true\nplanes: 2\nplane_defaults:\n"
         "  device: \"net_memif{port},role=" +
         (server ? "server" : "client") + ",id={port},bsize=4608,socket=" + run + "/" + link +
         "-{port}.sock,socket-abstract=no\"\n  mac: \"02:00:00:00:0" + own +
         ":0{port}\"\n  gateway_mac: \"02:00:00:00:0" + peer +
         ":0{port}\"\n  addresses: [\"fd00:0:{port}:" + own +
         "::1\"]\n  downlink_usid: " + (server ? "0xd011" : "0xd012") +
         "\n  rate_mbps: 100000\nsrv6:\n  block: \"fcbb:bb00::/32\"\n  templates:\n"
         "    - {destinations: \"fd00:0:0:" +
         peer +
         "::/64\", uplinks: 4, path: [1p03, 2puu, 1p41, downlink]}\n  destinations:\n"
         "    - {address: \"fd00:0:0:" +
         peer + "::1\", downlink_usid: " + (server ? "0xd012" : "0xd011") + "}\n";
}

softmrc::dataplane::Node& node_of(const Side& side) {
  return softmrc::verbs::node_of(*softmrc::verbs::device_of(side.verbs));
}

// Calls `action` with the EVs of the QP, on its worker.
template <typename Action>
void with_evs(const Side& side, mrc_qp* qp, Action&& action) {
  const softmrc::Qpn qpn(qpn_of(qp));
  node_of(side).worker_of(qpn).with_core(
      [&](softmrc::transport::Core& core, softmrc::Time) { action(*core.find(qpn)->evs); });
}

}  // namespace

mrc_ctl_ev path(size_t place) {
  static const char* const kPaths[] = {
      "fcbb:bb00:1003:2000:1041:d012::", "fcbb:bb00:1003:2001:1041:d012::",
      "fcbb:bb00:1003:2002:1041:d012::", "fcbb:bb00:1003:2003:1041:d012::"};
  return srv6_ev(kPaths[place], static_cast<uint8_t>(1 + place % 2));
}

softmrc::verbs::DeviceEntry* device(const std::string& run, const std::string& name, bool server,
                                    const std::string& link) {
  return softmrc::verbs::add_device(
      softmrc::config::parse_node(node_file(run, name, server, link)));
}

End::End(softmrc::verbs::DeviceEntry* entry)
    : side_(entry), qp_(make_qp(side_)), memory_(side_, 4096 * kPackets) {}

End::~End() { CHECK(mrc_destroy_qp(qp_) == 0); }

Hello End::hello() const { return {side_.gid(), qpn_of(qp_), memory_.mr->rkey, memory_.address()}; }

void End::connect(const Hello& peer, uint64_t profile) {
  peer_ = peer;
  ibv_qp_attr attr = init_attr();
  REQUIRE(mrc_modify_qp(qp_, &attr, kInitMask, nullptr, 0) == 0);
  attr = rtr_attr(peer.gid, peer.qpn, 7);
  mrc_qp_attr mrc{};
  mrc.profile.ev_profile_id = profile;
  REQUIRE(mrc_modify_qp(qp_, &attr, kRtrMask, &mrc, profile != 0 ? MRC_QP_EV_PROFILE_ID : 0) == 0);
  attr = rts_attr(7);
  attr.timeout = kTimeout;
  REQUIRE(mrc_modify_qp(qp_, &attr, kRtsMask, nullptr, 0) == 0);
}

void End::send(uint32_t packets) {
  Write write(memory_, memory_, 4096 * packets);
  write.wr.wr.rdma.remote_addr = peer_.address;
  write.wr.wr.rdma.rkey = peer_.rkey;
  REQUIRE(write.signaled().post(qp_) == 0);
}

bool End::progress() {
  ibv_wc wc;
  const int done = mrc_poll_cq(side_.cq, 1, &wc);
  REQUIRE(done >= 0);
  if (done == 1) REQUIRE(wc.status == IBV_WC_SUCCESS);
  return done == 1;
}

Paths End::paths() const {
  Paths paths;
  with_evs(side_, qp_, [&](const softmrc::path::EvSet& evs) {
    for (softmrc::path::EvIndex i = 0; i < evs.size(); ++i)
      paths.sent[evs.profile_index(i)] += evs.counters(i).sent;
    for (softmrc::path::EvIndex i = 0; i < evs.size(); ++i)
      paths.denied[evs.profile_index(i)] |= evs.state(i) == softmrc::path::EvState::kDenied;
  });
  return paths;
}

void End::cut(size_t place) {
  std::optional<softmrc::Ev> ev;
  with_evs(side_, qp_, [&](const softmrc::path::EvSet& evs) {
    for (softmrc::path::EvIndex i = 0; i < evs.size(); ++i)
      if (evs.profile_index(i) == place) ev = evs.entry(i).ev;
  });
  REQUIRE(ev);
  node_of(side_).faults().add(
      {.direction = softmrc::dataplane::FaultDirection::kTransmit, .ev = ev});
}

void End::mend() { node_of(side_).faults().clear(); }

Controller::Controller(softmrc::verbs::DeviceEntry* entry) {
  side.entry = entry;
  side.verbs = softmrc::verbs::open_context(entry, {.pcap_file = {}, .seed = 0, .ports = false});
  REQUIRE(side.verbs);
  mrc_context_attr attr{};
  side.mrc = mrc_create_context(side.verbs, &attr);
  REQUIRE(side.mrc);
}

Controller::~Controller() {
  CHECK(mrc_destroy_context(side.mrc) == 0);
  CHECK(softmrc::verbs::close_context(side.verbs) == 0);
}

}  // namespace test
