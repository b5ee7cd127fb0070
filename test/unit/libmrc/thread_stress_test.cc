// Any call from any thread: four threads post on 64 QPs in both directions and poll their CQs, all
// of them at random, so that QPs and CQs are shared, while memory and other QPs come and go. Each
// request completes once, and what was written is there. scripts/tsan.sh runs it under
// ThreadSanitizer; STRESS_SECONDS says how long (3), once as application threads drive the devices
// and once as workers do.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "world.h"

using namespace test;

namespace {

using std::chrono::steady_clock;

constexpr size_t kThreads = 4, kQps = 64, kCqs = 4;
constexpr uint32_t kArea = 8192;           // of memory per QP: two packets
constexpr int kOutstanding = 16;           // sends per QP
constexpr int kReceives = 12;              // immediates per QP
constexpr uint64_t kReceive = 1ull << 32;  // wr_ids of receives

// One direction of a pair of QPs.
struct Way {
  mrc_qp* qp = nullptr;
  uint64_t source = 0, target = 0;
  uint32_t lkey = 0, rkey = 0;
  std::atomic<int> room{kOutstanding};  // sends that may still be posted
  std::atomic<int> receives{0};         // posted at the other end and not promised to an immediate
  std::atomic<uint64_t> posted{0}, completed{0}, sent_immediates{0}, got_immediates{0};
};

// Takes one, if there is any.
bool take(std::atomic<int>& count) {
  int before = count.load();
  while (before > 0 && !count.compare_exchange_weak(before, before - 1)) {
  }
  return before > 0;
}

class Stress {
 public:
  explicit Stress(Progress progress);
  ~Stress();

  void run(std::chrono::seconds time);
  void drain();
  void check_data();

  std::atomic<const char*> problem{nullptr};  // the first; Catch2 is not for several threads
  uint64_t total(std::atomic<uint64_t> Way::*count) const;
  uint64_t calls() const { return other_calls_; }

 private:
  struct End {
    Side& side;
    Buffer source, target;
    std::vector<mrc_cq*> cqs;  // of sends, and the side's, of receives
    struct Qp {
      mrc_qp* qp;
      Way *out, *in;
    };
    std::unordered_map<uint32_t, Qp> qps;
    End(Side& s, uint32_t seed) : side(s), source(s, kQps * kArea), target(s, kQps * kArea) {
      source.fill(seed);
      for (size_t i = 0; i < kCqs; ++i)
        cqs.push_back(
            mrc_create_cq(side.mrc, static_cast<int>(kQps * kOutstanding), nullptr, nullptr, 0));
      cqs.push_back(side.cq);
    }
  };

  void work(uint64_t seed, steady_clock::time_point end);
  void post(Way& way, uint32_t size, bool immediate);
  void poll(End& end, size_t cq);
  void completed(End& end, const ibv_wc& wc);
  void call_something_else(softmrc::Random& random);
  void fail(const char* what) {
    const char* none = nullptr;
    problem.compare_exchange_strong(none, what);
  }

  World world_;
  std::array<std::unique_ptr<End>, 2> ends_;
  std::array<std::array<Way, kQps>, 2> ways_;  // [sending end]
  std::atomic<uint64_t> other_calls_{0};
};

Stress::Stress(Progress progress) : world_(progress) {
  ends_ = {std::make_unique<End>(world_.a, 1), std::make_unique<End>(world_.b, 2)};
  for (size_t i = 0; i < kQps; ++i) {
    std::array<mrc_qp*, 2> pair{};
    for (size_t end = 0; end < 2; ++end) {
      const QpOptions options{.max_send_wr = kOutstanding,
                              .max_recv_wr = kReceives,
                              .send_cq = ends_[end]->cqs[i % kCqs]};
      pair[end] = end == 0 ? world_.qp_on_a(options) : world_.qp_on_b(options);
    }
    world_.connect(pair[0], pair[1]);
    for (size_t end = 0; end < 2; ++end) {
      Way& way = ways_[end][i];
      const End &from = *ends_[end], &to = *ends_[1 - end];
      way.qp = pair[end];
      way.source = from.source.address(i * kArea);
      way.lkey = from.source.mr->lkey;
      way.target = to.target.address(i * kArea);
      way.rkey = to.target.mr->rkey;
      ends_[end]->qps[qpn_of(way.qp)] = {way.qp, &way, &ways_[1 - end][i]};
    }
  }
  for (auto& end : ends_)
    for (auto& [qpn, qp] : end->qps) {
      for (int i = 0; i < kReceives; ++i) REQUIRE(post_receive(qp.qp, kReceive) == 0);
      qp.in->receives = kReceives;
    }
}

Stress::~Stress() {
  for (mrc_qp* qp : world_.qps) CHECK(mrc_destroy_qp(qp) == 0);
  world_.qps.clear();
  for (auto& end : ends_)
    for (size_t i = 0; i < kCqs; ++i) CHECK(mrc_destroy_cq(end->cqs[i]) == 0);
  for (auto& end : ends_) end.reset();
}

// With a place taken in `room`, and in `receives` for an immediate.
void Stress::post(Way& way, uint32_t size, bool immediate) {
  ibv_sge sge{way.source, size, way.lkey};
  ibv_send_wr wr{};
  wr.wr_id = size;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  wr.imm_data = size;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = way.target;
  wr.wr.rdma.rkey = way.rkey;
  ++way.posted;
  if (immediate) ++way.sent_immediates;
  ibv_send_wr* bad = nullptr;
  if (mrc_post_send(way.qp, &wr, &bad) != 0) fail("a write cannot be posted");
}

void Stress::completed(End& end, const ibv_wc& wc) {
  if (wc.status != IBV_WC_SUCCESS) return fail("a request fails");
  const End::Qp& qp = end.qps.at(wc.qp_num);
  if (wc.wr_id != kReceive) {
    ++qp.out->completed;
    ++qp.out->room;
    return;
  }
  if (wc.imm_data != wc.byte_len) fail("an immediate of another message");
  ++qp.in->got_immediates;
  if (post_receive(qp.qp, kReceive) != 0) fail("a receive cannot be posted");
  ++qp.in->receives;
}

void Stress::poll(End& end, size_t cq) {
  ibv_wc wc[8];
  const int taken = mrc_poll_cq(end.cqs[cq], 8, wc);
  if (taken < 0) return fail("a CQ is dead");
  for (int i = 0; i < taken; ++i) completed(end, wc[i]);
}

// What the worker's tables change with while it carries data.
void Stress::call_something_else(softmrc::Random& random) {
  Side& side = ends_[random.below(2)]->side;
  ++other_calls_;
  switch (random.below(3)) {
    case 0: {
      std::vector<uint8_t> memory(4096);
      ibv_mr* mr = softmrc::verbs::reg_mr(side.pd, memory.data(), memory.size(),
                                          reinterpret_cast<uintptr_t>(memory.data()),
                                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
      if (!mr || softmrc::verbs::dereg_mr(mr) != 0) fail("memory registration");
      break;
    }
    case 1: {
      mrc_qp_init_attr init{};
      init.send_cq = init.recv_cq = side.cq;
      init.pd = side.pd;
      mrc_qp* qp = mrc_create_qp(side.mrc, &init);
      ibv_qp_attr attr = init_attr();
      if (!qp || mrc_modify_qp(qp, &attr, kInitMask, nullptr, 0) != 0 || mrc_destroy_qp(qp) != 0)
        fail("life of a QP");
      break;
    }
    default: {
      ibv_qp_attr attr{};
      mrc_qp_attr mrc{};
      if (mrc_query_qp(ways_[random.below(2)][random.below(kQps)].qp, &attr, 0, &mrc, 0, nullptr) !=
          0)
        fail("mrc_query_qp");
    }
  }
}

void Stress::work(uint64_t seed, steady_clock::time_point end) {
  softmrc::Random random(seed);
  while (steady_clock::now() < end && !problem) {
    for (int i = 0; i < 8; ++i) {
      Way& way = ways_[random.below(2)][random.below(kQps)];
      if (!take(way.room)) continue;
      const bool immediate = random.below(8) == 0 && take(way.receives);
      post(way, 1 + static_cast<uint32_t>(random.below(kArea)), immediate);
    }
    poll(*ends_[random.below(2)], random.below(kCqs + 1));
    if (random.below(512) == 0) call_something_else(random);
  }
}

void Stress::run(std::chrono::seconds time) {
  const auto end = steady_clock::now() + time;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([this, i, end] { work(1 + i, end); });
  for (std::thread& thread : threads) thread.join();
}

uint64_t Stress::total(std::atomic<uint64_t> Way::*count) const {
  uint64_t sum = 0;
  for (const auto& direction : ways_)
    for (const Way& way : direction) sum += (way.*count).load();
  return sum;
}

void Stress::drain() {
  const auto end = steady_clock::now() + std::chrono::seconds(20);
  const auto done = [&] {
    return total(&Way::completed) == total(&Way::posted) &&
           total(&Way::got_immediates) == total(&Way::sent_immediates);
  };
  while (!done() && !problem && steady_clock::now() < end) {
    for (auto& e : ends_)
      for (size_t cq = 0; cq <= kCqs; ++cq) poll(*e, cq);
  }
  CHECK(total(&Way::completed) == total(&Way::posted));
  CHECK(total(&Way::got_immediates) == total(&Way::sent_immediates));
}

void Stress::check_data() {
  for (auto& direction : ways_)
    for (Way& way : direction) {
      REQUIRE(take(way.room));
      post(way, kArea, false);
    }
  drain();
  CHECK(ends_[0]->source.bytes == ends_[1]->target.bytes);
  CHECK(ends_[1]->source.bytes == ends_[0]->target.bytes);
}

}  // namespace

TEST_CASE("four threads post and poll on 64 QPs, all of them shared") {
  const char* seconds = std::getenv("STRESS_SECONDS");
  Stress stress(GENERATE(Progress::kApplication, Progress::kDedicated));
  stress.run(std::chrono::seconds(seconds ? std::stoi(seconds) : 3));
  stress.drain();
  stress.check_data();
  const char* problem = stress.problem;
  INFO((problem ? problem : ""));
  CHECK(problem == nullptr);
  CHECK(stress.total(&Way::sent_immediates) > 0);
  CHECK(stress.calls() > 0);
  std::printf("%llu writes, %llu of them with immediate, %llu other calls\n",
              static_cast<unsigned long long>(stress.total(&Way::posted)),
              static_cast<unsigned long long>(stress.total(&Way::sent_immediates)),
              static_cast<unsigned long long>(stress.calls()));
}
