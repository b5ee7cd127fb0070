#include "world.h"

#include <arpa/inet.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "config/node_config.h"

namespace test {

const std::string& state_directory() {
  static const struct Directory {
    Directory() {
      char name[] = "/tmp/softmrc-libmrc-test-XXXXXX";
      REQUIRE(mkdtemp(name) != nullptr);
      path = name;
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string path;
  } directory;
  return directory.path;
}

namespace {

// Two planes of SRv6 over in-process links called `link`; `own` and `peer` number the sides.
std::string node_file(const std::string& name, char own, char peer, const std::string& own_downlink,
                      const std::string& peer_downlink, const std::string& link,
                      const std::string& dataplane = "") {
  return "name: " + name + "\n" + "gids: [\"fd00:0:0:" + own + "::1\"]\n" + "state_directory: \"" +
         state_directory() + "/" + name + "\"\n" +
         "mtu: 9000\n"
         "back_to_back: true\n"
         "planes: 2\n"
         "plane_defaults:\n"
         "  device: \"ring:" +
         link +
         "{port}\"\n"
         "  mac: \"02:00:00:00:0" +
         own +
         ":0{port}\"\n"
         "  gateway_mac: \"02:00:00:00:0" +
         peer +
         ":0{port}\"\n"
         "  addresses: [\"fd00:0:{port}:" +
         own +
         "::1\"]\n"
         "  downlink_usid: " +
         own_downlink +
         "\n"
         "  rate_mbps: 100000\n"
         "srv6:\n"
         "  format: f3216\n"
         "  block: \"fcbb:bb00::/32\"\n"
         "  templates:\n"
         "    - destinations: \"fd00:0:0:" +
         peer +
         "::/64\"\n"
         "      uplinks: 32\n"
         "      path: [1p03, 2puu, 1p41, downlink]\n"
         "  destinations:\n"
         "    - {address: \"fd00:0:0:" +
         peer + "::1\", downlink_usid: " + peer_downlink + "}\n" + dataplane;
}

softmrc::verbs::DeviceEntry* entry_of(const std::string& name) {
  using namespace softmrc;
  static const bool added = [] {
    const std::string dedicated = "dataplane: {workers: 2, progress: dedicated, idle: yield}\n";
    for (const auto& file :
         {node_file("mrc-a", 'a', 'b', "0xd011", "0xd012", "libmrc"),
          node_file("mrc-b", 'b', 'a', "0xd012", "0xd011", "libmrc"),
          node_file("mrc-c", 'a', 'b', "0xd011", "0xd012", "dedicated", dedicated),
          node_file("mrc-d", 'b', 'a', "0xd012", "0xd011", "dedicated", dedicated)})
      REQUIRE(verbs::add_device(config::parse_node(file)) != nullptr);
    return true;
  }();
  REQUIRE(added);
  for (verbs::DeviceEntry* entry : verbs::configured_devices())
    if (entry->ibv.name == name) return entry;
  return nullptr;
}

}  // namespace

void Side::open(const char* name) { open(entry_of(name)); }

void Side::open(softmrc::verbs::DeviceEntry* device) {
  entry = device;
  REQUIRE(entry);
  verbs = softmrc::verbs::open_context(entry);
  REQUIRE(verbs);
  pd = softmrc::verbs::alloc_pd(verbs);
  REQUIRE(pd);
  mrc_context_attr attr{1, 0};  // a protocol version by mistake, as programs do
  mrc = mrc_create_context(verbs, &attr);
  REQUIRE(mrc);
  cq = mrc_create_cq(mrc, 1024, this, nullptr, 0);
  REQUIRE(cq);
}

void Side::close() {
  CHECK(mrc_destroy_cq(cq) == 0);
  CHECK(mrc_destroy_context(mrc) == 0);
  CHECK(softmrc::verbs::dealloc_pd(pd) == 0);
  CHECK(softmrc::verbs::close_context(verbs) == 0);
}

ibv_gid Side::gid(int index) const {
  ibv_gid gid{};
  REQUIRE(softmrc::verbs::query_gid(verbs, 1, index, &gid) == 0);
  return gid;
}

Buffer::Buffer(Side& side, size_t size, unsigned access) : bytes(size) {
  mr = softmrc::verbs::reg_mr(side.pd, bytes.data(), size, address(), access);
  REQUIRE(mr);
}

Buffer::~Buffer() { CHECK(softmrc::verbs::dereg_mr(mr) == 0); }

uint64_t Buffer::address(size_t offset) const {
  return reinterpret_cast<uintptr_t>(bytes.data()) + offset;
}

void Buffer::fill(uint32_t seed) {
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>((i + seed) * 2654435761u >> 13);
}

mrc_qp* make_qp(Side& side, const QpOptions& options) {
  mrc_qp_init_attr init{};
  init.send_cq = options.send_cq ? options.send_cq : side.cq;
  init.recv_cq = side.cq;
  init.pd = side.pd;
  init.cap.max_send_wr = options.max_send_wr;
  init.cap.max_recv_wr = options.max_recv_wr;
  init.cap.max_send_sge = options.max_send_sge;
  init.cap.max_inline_data = options.max_inline;
  init.sq_sig_all = options.signal_all;
  mrc_qp* qp = mrc_create_qp(side.mrc, &init);
  REQUIRE(qp);
  CHECK(init.cap.max_send_wr >= options.max_send_wr);
  CHECK(init.cap.max_recv_wr >= options.max_recv_wr);
  return qp;
}

ibv_qp_attr init_attr() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  return attr;
}

ibv_qp_attr rtr_attr(const ibv_gid& peer, uint32_t peer_qpn, uint32_t rq_psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer_qpn;
  attr.rq_psn = rq_psn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = peer;
  attr.ah_attr.grh.sgid_index = 3;
  return attr;
}

ibv_qp_attr rts_attr(uint32_t sq_psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = sq_psn;
  attr.timeout = 14;
  attr.retry_cnt = 10;  // counts as 7
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  return attr;
}

uint32_t qpn_of(mrc_qp* qp) {
  uint32_t qpn = 0;
  REQUIRE(mrc_get_qpn(qp, &qpn) == 0);
  return qpn;
}

World::World(Progress progress) {
  const bool application = progress == Progress::kApplication;
  a.open(application ? "mrc-a" : "mrc-c");
  b.open(application ? "mrc-b" : "mrc-d");
}

World::~World() {
  for (mrc_qp* qp : qps) CHECK(mrc_destroy_qp(qp) == 0);
  b.close();
  a.close();
}

mrc_qp* World::qp_on_a(const QpOptions& options) { return qps.emplace_back(make_qp(a, options)); }
mrc_qp* World::qp_on_b(const QpOptions& options) { return qps.emplace_back(make_qp(b, options)); }

void World::connect(mrc_qp* on_a, mrc_qp* on_b, mrc_qp_attr* of_a, int mask) {
  constexpr uint32_t kPsnA = 0xFFFFF0, kPsnB = 5;  // one wraps soon
  const auto up = [](mrc_qp* qp, const ibv_gid& peer, uint32_t peer_qpn, uint32_t rq, uint32_t sq,
                     mrc_qp_attr* mrc, int mrc_mask) {
    ibv_qp_attr attr = init_attr();
    REQUIRE(mrc_modify_qp(qp, &attr, kInitMask, nullptr, 0) == 0);
    attr = rtr_attr(peer, peer_qpn, rq);
    REQUIRE(mrc_modify_qp(qp, &attr, kRtrMask, mrc, mrc_mask) == 0);
    attr = rts_attr(sq);
    REQUIRE(mrc_modify_qp(qp, &attr, kRtsMask, nullptr, 0) == 0);
  };
  up(on_a, b.gid(), qpn_of(on_b), kPsnB, kPsnA, of_a, mask);
  up(on_b, a.gid(), qpn_of(on_a), kPsnA, kPsnB, nullptr, 0);
}

void World::run_until(const std::function<bool()>& enough) {
  const auto poll = [](mrc_cq* cq, std::vector<ibv_wc>& done) {
    ibv_wc wc[16];
    const int n = mrc_poll_cq(cq, 16, wc);
    REQUIRE(n >= 0);
    done.insert(done.end(), wc, wc + n);
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!enough()) {
    if (std::chrono::steady_clock::now() > end) {
      CAPTURE(done_a.size(), done_b.size());
      FAIL("nothing more happens");
    }
    poll(a.cq, done_a);
    poll(b.cq, done_b);
  }
}

Write::Write(const Buffer& from, const Buffer& to, uint32_t size, uint64_t id) {
  sge = {from.address(), size, from.mr->lkey};
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = to.address();
  wr.wr.rdma.rkey = to.mr->rkey;
}

Write& Write::signaled() {
  wr.send_flags |= IBV_SEND_SIGNALED;
  return *this;
}

Write& Write::immediate(uint32_t value) {
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.imm_data = htonl(value);
  return *this;
}

int Write::post(mrc_qp* qp) {
  wr.sg_list = &sge;  // this object may have been moved
  return mrc_post_send(qp, &wr, &bad);
}

int post_receive(mrc_qp* qp, uint64_t id) {
  ibv_recv_wr wr{};
  wr.wr_id = id;
  ibv_recv_wr* bad = nullptr;
  return mrc_post_recv(qp, &wr, &bad);
}

}  // namespace test
