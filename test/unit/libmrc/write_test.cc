// Writes from one device to another and back, and every way in which they fail.
#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>
#include <thread>

#include "world.h"

using namespace test;

namespace {

struct Pair : World {
  mrc_qp* on_a;
  mrc_qp* on_b;
  explicit Pair(const QpOptions& options = {}) : on_a(qp_on_a(options)), on_b(qp_on_b(options)) {
    connect(on_a, on_b);
  }
};

bool untouched(const Buffer& buffer) {
  return std::all_of(buffer.bytes.begin(), buffer.bytes.end(), [](uint8_t b) { return b == 0; });
}

ibv_qp_state state_of(mrc_qp* qp) {
  ibv_qp_attr attr{};
  REQUIRE(mrc_query_qp(qp, &attr, IBV_QP_STATE, nullptr, 0, nullptr) == 0);
  return attr.qp_state;
}

}  // namespace

TEST_CASE_METHOD(Pair, "writes of every size arrive whole", "[write]") {
  constexpr uint32_t kLargest = 1 << 20;
  Buffer from(a, kLargest), to(b, kLargest + 1);
  uint32_t seed = 1;
  for (uint32_t size : {0u, 1u, 7u, 4096u, 4097u, 65'537u, kLargest}) {
    CAPTURE(size);
    from.fill(seed++);
    std::fill(to.bytes.begin(), to.bytes.end(), 0);
    done_a.clear();
    REQUIRE(Write(from, to, size, size).signaled().post(on_a) == 0);
    run_until([&] { return !done_a.empty(); });
    const ibv_wc& wc = done_a.front();
    CHECK(wc.status == IBV_WC_SUCCESS);
    CHECK(wc.opcode == IBV_WC_RDMA_WRITE);
    CHECK(wc.wr_id == size);
    CHECK(wc.qp_num == qpn_of(on_a));
    CHECK(wc.vendor_err == 0);
    CHECK(std::equal(from.bytes.begin(), from.bytes.begin() + size, to.bytes.begin()));
    CHECK(std::all_of(to.bytes.begin() + size, to.bytes.end(), [](uint8_t x) { return x == 0; }));
  }
  CHECK(done_b.empty());
}

TEST_CASE_METHOD(Pair, "several SGEs are gathered", "[write]") {
  Buffer one(a, 5000), two(a, 3000), to(b, 8000);
  one.fill(1);
  two.fill(2);
  ibv_sge sges[4] = {{one.address(10), 4500, one.mr->lkey},
                     {one.address(), 0, 0},  // nothing of an unknown key is nothing
                     {two.address(), 1, two.mr->lkey},
                     {two.address(7), 2000, two.mr->lkey}};
  Write write(one, to, 0);
  write.signaled();
  write.wr.sg_list = sges;
  write.wr.num_sge = 4;
  REQUIRE(mrc_post_send(on_a, &write.wr, &write.bad) == 0);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
  std::vector<uint8_t> expected(one.bytes.begin() + 10, one.bytes.begin() + 4510);
  expected.push_back(two.bytes[0]);
  expected.insert(expected.end(), two.bytes.begin() + 7, two.bytes.begin() + 2007);
  CHECK(std::equal(expected.begin(), expected.end(), to.bytes.begin()));
  CHECK(to.bytes[expected.size()] == 0);
}

TEST_CASE_METHOD(Pair, "inline data may be overwritten once posted, and needs no key", "[write]") {
  Buffer to(b, 64);
  uint8_t text[33];
  std::fill(std::begin(text), std::end(text), 0x5A);
  Write write(to, to, sizeof text);
  write.signaled();
  write.sge = {reinterpret_cast<uintptr_t>(text), sizeof text, 0};
  write.wr.send_flags |= IBV_SEND_INLINE;
  REQUIRE(write.post(on_a) == 0);
  std::fill(std::begin(text), std::end(text), 0xFF);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
  CHECK(std::count(to.bytes.begin(), to.bytes.end(), 0x5A) == sizeof text);
}

TEST_CASE_METHOD(Pair, "an immediate completes a receive, in order", "[write]") {
  Buffer from(a, 10'000), to(b, 10'000);
  from.fill(3);
  for (uint64_t id : {70, 71, 72}) REQUIRE(post_receive(on_b, id) == 0);
  REQUIRE(Write(from, to, 9000, 1).signaled().immediate(0xDEADBEEF).post(on_a) == 0);
  REQUIRE(Write(from, to, 0, 2).signaled().immediate(7).post(on_a) == 0);
  REQUIRE(Write(from, to, 4096, 3).signaled().immediate(8).post(on_a) == 0);
  run_until([&] { return done_a.size() == 3 && done_b.size() == 3; });
  const uint32_t lengths[] = {9000, 0, 4096}, values[] = {0xDEADBEEF, 7, 8};
  for (size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(done_a[i].wr_id == i + 1);
    CHECK(done_a[i].opcode == IBV_WC_RDMA_WRITE);
    const ibv_wc& wc = done_b[i];
    CHECK(wc.status == IBV_WC_SUCCESS);
    CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
    CHECK(wc.wr_id == 70 + i);
    CHECK(wc.byte_len == lengths[i]);
    CHECK(ntohl(wc.imm_data) == values[i]);
    CHECK((wc.wc_flags & IBV_WC_WITH_IMM) != 0);
    CHECK(wc.qp_num == qpn_of(on_b));
    CHECK(wc.src_qp == qpn_of(on_a));
  }
  CHECK(std::equal(from.bytes.begin(), from.bytes.begin() + 9000, to.bytes.begin()));
}

TEST_CASE_METHOD(Pair, "both directions at once, every 64th signaled", "[write]") {
  constexpr uint32_t kWrites = 1024, kSize = 8192;
  Buffer buffer_a(a, 2 * kSize), buffer_b(b, 2 * kSize);
  buffer_a.fill(11);
  buffer_b.fill(12);
  const std::vector<uint8_t> a_was = buffer_a.bytes, b_was = buffer_b.bytes;
  const auto post = [&](mrc_qp* qp, Buffer& from, Buffer& to, uint32_t i) {
    Write write(from, to, kSize, i);
    write.wr.wr.rdma.remote_addr += kSize;
    if (i % 64 == 63) write.signaled();
    return write.post(qp);
  };
  uint32_t from_a = 0, from_b = 0;
  run_until([&] {
    for (int error = 0; from_a < kWrites && error == 0; from_a += error == 0)
      error = post(on_a, buffer_a, buffer_b, from_a);
    for (int error = 0; from_b < kWrites && error == 0; from_b += error == 0)
      error = post(on_b, buffer_b, buffer_a, from_b);
    return done_a.size() == kWrites / 64 && done_b.size() == kWrites / 64;
  });
  for (size_t i = 0; i < done_a.size(); ++i) {
    CHECK(done_a[i].status == IBV_WC_SUCCESS);
    CHECK(done_a[i].wr_id == i * 64 + 63);
    CHECK(done_b[i].wr_id == i * 64 + 63);
  }
  CHECK(std::equal(a_was.begin(), a_was.begin() + kSize, buffer_b.bytes.begin() + kSize));
  CHECK(std::equal(b_was.begin(), b_was.begin() + kSize, buffer_a.bytes.begin() + kSize));
}

TEST_CASE("sq_sig_all signals what is not marked", "[write]") {
  Pair pair(QpOptions{.signal_all = true});
  Buffer from(pair.a, 8), to(pair.b, 8);
  REQUIRE(Write(from, to, 8, 1).post(pair.on_a) == 0);
  pair.run_until([&] { return pair.done_a.size() == 1; });
}

TEST_CASE_METHOD(Pair, "several threads post on one QP and poll one CQ", "[write]") {
  constexpr uint32_t kThreads = 3, kEach = 400;
  Buffer from(a, 64), to(b, 64);
  std::atomic<uint32_t> completed{0}, failed{0}, posters{kThreads};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      const auto poll = [&] {
        ibv_wc wc[8];
        const int n = mrc_poll_cq(a.cq, 8, wc);
        for (int i = 0; i < n; ++i) ++(wc[i].status == IBV_WC_SUCCESS ? completed : failed);
        if (n < 0) ++failed;
      };
      for (uint32_t i = 0; i < kEach && failed == 0;) {
        const int error = Write(from, to, 64, i).signaled().post(on_a);
        if (error == 0) ++i;
        if (error != 0 && error != ENOMEM) ++failed;
        poll();
      }
      --posters;
    });
  run_until([&] { return posters == 0 && completed + done_a.size() == kThreads * kEach; });
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  for (const ibv_wc& wc : done_a) CHECK(wc.status == IBV_WC_SUCCESS);
}

TEST_CASE_METHOD(Pair, "a program that polls memory needs no completion", "[write]") {
  Buffer from(a, 64), to(b, 64);
  from.bytes[63] = 0xA5;
  REQUIRE(Write(from, to, 64).post(on_a) == 0);
  run_until([&] { return static_cast<volatile uint8_t&>(to.bytes[63]) == 0xA5; });
  CHECK(done_a.empty());
}

TEST_CASE_METHOD(Pair, "what the remote key does not cover is refused, memory untouched",
                 "[access]") {
  Buffer from(a, 4096);
  from.fill(1);
  // The region under attack lies inside memory that would take a stray write.
  Buffer arena(b, 3 * 4096);
  REQUIRE(softmrc::verbs::dereg_mr(arena.mr) == 0);
  const unsigned access = GENERATE(0u, unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  arena.mr =
      softmrc::verbs::reg_mr(b.pd, arena.bytes.data() + 4096, 4096, arena.address(4096), access);
  REQUIRE(arena.mr);

  Write write(from, arena, 64, 42);
  write.signaled();
  write.wr.wr.rdma.remote_addr = arena.address(4096);
  if (access == 0) {
    INFO("read only");
  } else {
    switch (GENERATE(0, 1, 2, 3, 4)) {
      case 0:
        write.wr.wr.rdma.rkey ^= 0x00010000;
        break;
      case 1:
        write.wr.wr.rdma.rkey = 0;
        break;
      case 2:
        write.wr.wr.rdma.remote_addr -= 1;
        break;
      case 3:
        write.wr.wr.rdma.remote_addr += 4096 - 63;
        break;
      case 4:
        write.wr.wr.rdma.remote_addr = UINT64_MAX - 31;
        break;
    }
  }
  Write behind(from, arena, 8, 43);
  REQUIRE(write.post(on_a) == 0);
  REQUIRE(behind.post(on_a) == 0);
  run_until([&] { return done_a.size() == 2; });
  CHECK(done_a[0].wr_id == 42);
  CHECK(done_a[0].status == IBV_WC_REM_ACCESS_ERR);
  CHECK(done_a[0].vendor_err != 0);
  CHECK(done_a[1].wr_id == 43);
  CHECK(done_a[1].status == IBV_WC_WR_FLUSH_ERR);
  CHECK(untouched(arena));
  CHECK(state_of(on_a) == IBV_QPS_ERR);
  CHECK(state_of(on_b) == IBV_QPS_ERR);
}

TEST_CASE_METHOD(Pair, "another PD's key is refused", "[access]") {
  ibv_pd* other = softmrc::verbs::alloc_pd(b.verbs);
  REQUIRE(other);
  std::swap(b.pd, other);
  {
    Buffer from(a, 64), to(b, 64);
    from.fill(1);
    std::swap(b.pd, other);
    REQUIRE(Write(from, to, 64, 1).signaled().post(on_a) == 0);
    run_until([&] { return !done_a.empty(); });
    CHECK(done_a[0].status == IBV_WC_REM_ACCESS_ERR);
    CHECK(untouched(to));
  }
  CHECK(softmrc::verbs::dealloc_pd(other) == 0);
}

TEST_CASE_METHOD(Pair, "what came before the refused write completes", "[access]") {
  Buffer from(a, 64), to(b, 64);
  from.fill(9);
  REQUIRE(Write(from, to, 64, 1).signaled().post(on_a) == 0);
  Write bad(from, to, 64, 2);
  bad.wr.wr.rdma.rkey ^= 0x00010000;
  REQUIRE(bad.post(on_a) == 0);
  run_until([&] { return done_a.size() == 2; });
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
  CHECK(done_a[1].status == IBV_WC_REM_ACCESS_ERR);
  CHECK(from.bytes == to.bytes);
}

TEST_CASE_METHOD(Pair, "a zero-length write needs no valid key", "[access]") {
  Buffer from(a, 64), to(b, 64);
  Write write(from, to, 0, 1);
  write.signaled();
  write.wr.wr.rdma.rkey = 0;
  write.wr.wr.rdma.remote_addr = 0;
  REQUIRE(write.post(on_a) == 0);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
}

TEST_CASE_METHOD(Pair, "a local key that does not cover its SGE fails in its turn", "[access]") {
  Buffer from(a, 64), to(b, 64);
  Write good(from, to, 64, 1), bad(from, to, 64, 2), behind(from, to, 8, 3);
  good.signaled();
  SECTION("unknown key") { bad.sge.lkey ^= 0x00010000; }
  SECTION("beyond the end") { bad.sge.addr += 1; }
  SECTION("before the start") { bad.sge.addr -= 1; }
  REQUIRE(good.post(on_a) == 0);
  REQUIRE(bad.post(on_a) == 0);
  REQUIRE(behind.post(on_a) == 0);
  run_until([&] { return done_a.size() == 3; });
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
  CHECK(done_a[1].status == IBV_WC_LOC_PROT_ERR);
  CHECK(done_a[1].wr_id == 2);
  CHECK(done_a[2].status == IBV_WC_WR_FLUSH_ERR);
  CHECK(state_of(on_a) == IBV_QPS_ERR);
}

TEST_CASE_METHOD(Pair, "an immediate without a posted receive is an error of both", "[flush]") {
  Buffer from(a, 64), to(b, 64);
  REQUIRE(Write(from, to, 64, 1).signaled().immediate(1).post(on_a) == 0);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a[0].status == IBV_WC_REM_OP_ERR);
  CHECK(state_of(on_b) == IBV_QPS_ERR);
}

TEST_CASE_METHOD(Pair, "ERROR flushes what is posted before and after", "[flush]") {
  Buffer from(a, 64), to(b, 64);
  for (uint64_t id : {1, 2, 3}) REQUIRE(post_receive(on_a, id) == 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  REQUIRE(mrc_modify_qp(on_a, &attr, IBV_QP_STATE, nullptr, 0) == 0);
  REQUIRE(Write(from, to, 64, 10).post(on_a) == 0);  // unsignaled: flushed all the same
  REQUIRE(post_receive(on_a, 4) == 0);
  run_until([&] { return done_a.size() == 5; });
  std::vector<uint64_t> receives;
  for (const ibv_wc& wc : done_a) {
    CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
    CHECK(wc.qp_num == qpn_of(on_a));
    if (wc.wr_id != 10) receives.push_back(wc.wr_id);
  }
  CHECK(receives == std::vector<uint64_t>{1, 2, 3, 4});
  CHECK(untouched(to));
}

TEST_CASE_METHOD(Pair, "a QP lives again after RESET", "[flush]") {
  Buffer from(a, 64), to(b, 64);
  from.fill(5);
  for (mrc_qp* qp : {on_a, on_b}) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    REQUIRE(post_receive(qp, 1) == 0);
    REQUIRE(mrc_modify_qp(qp, &attr, IBV_QP_STATE, nullptr, 0) == 0);
  }
  connect(on_a, on_b);
  REQUIRE(Write(from, to, 64, 1).signaled().post(on_a) == 0);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a.size() == 1);  // the receive from before is forgotten
  CHECK(done_a[0].status == IBV_WC_SUCCESS);
  CHECK(from.bytes == to.bytes);
}

TEST_CASE_METHOD(Pair, "destroying a QP takes its completions along", "[flush]") {
  Buffer from(a, 64), to(b, 64);
  mrc_qp* other_a = qp_on_a();
  mrc_qp* other_b = qp_on_b();
  connect(other_a, other_b);
  from.fill(1);
  REQUIRE(Write(from, to, 64, 1).signaled().post(on_a) == 0);
  REQUIRE(Write(from, to, 64, 2).signaled().post(other_a) == 0);
  // Wait without polling a's CQ: memory says when the write is there, b's CQ drives b.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (to.bytes != from.bytes && std::chrono::steady_clock::now() < end) {
    ibv_wc wc;
    REQUIRE(mrc_poll_cq(b.cq, 1, &wc) == 0);
  }
  qps.erase(std::find(qps.begin(), qps.end(), on_a));
  REQUIRE(mrc_destroy_qp(on_a) == 0);
  run_until([&] { return !done_a.empty(); });
  CHECK(done_a.size() == 1);
  CHECK(done_a[0].wr_id == 2);
}

TEST_CASE_METHOD(Pair, "memory given back under a running write stops its QP", "[flush]") {
  auto from = std::make_unique<Buffer>(a, 1 << 20);
  Buffer to(b, 1 << 20);
  // More than the peer's window takes in before it is driven again.
  for (uint64_t i = 0; i < 64; ++i)
    REQUIRE(Write(*from, to, 1 << 20, i).signaled().post(on_a) == 0);
  from.reset();
  CHECK(state_of(on_a) == IBV_QPS_ERR);
  run_until([&] { return done_a.size() == 64; });
  CHECK(done_a.back().status == IBV_WC_WR_FLUSH_ERR);
}
