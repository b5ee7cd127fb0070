// Nanoseconds per packet of each stage on the way of a write, one stage at a time, with the code
// that runs in a worker: two transport cores back to back on one thread, no ports. Each stage runs
// over many packets between two readings of the clock; medians of several rounds, as JSON.
//
//   stages NODE_FILE_A NODE_FILE_B [ROUNDS]
//
// What is left of the time per packet that mrc-perf measures over net_ring is mbufs, rings, the
// application's calls, and cache misses between them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/node_config.h"
#include "path/router.h"
#include "transport/core.h"
#include "verbs/copy.h"
#include "wire/codec.h"

using namespace softmrc;

namespace {

constexpr size_t kBatch = 32;
constexpr size_t kMessage = 64 * 1024;
constexpr size_t kBatches = 400;  // per round

int64_t clock_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Checks bounds and copies, like the MR table, without its look-up.
class OneRegion final : public transport::Memory {
 public:
  explicit OneRegion(std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  bool place(const void*, uint32_t, uint64_t va, std::span<const uint8_t> payload) override {
    if (va > bytes_.size() || payload.size() > bytes_.size() - va) return false;
    if (copies) verbs::copy_ascending(bytes_.data() + va, payload.data(), payload.size());
    return true;
  }
  bool copies = false;  // placement is a stage of its own

 private:
  std::vector<uint8_t>& bytes_;
};

class Count final : public transport::Events {
 public:
  void send_completed(void*, const transport::SendRequest&, transport::RequestStatus) override {
    ++completed;
  }
  void received(void*, const Received&) override {}
  void qp_failed(void*, transport::RequestStatus) override { std::abort(); }
  void established(void*) override {}
  uint64_t completed = 0;
};

struct End {
  End(const config::NodeConfig& node, std::vector<uint8_t>& bytes)
      : router(node), memory(bytes), core(core_config(node), router, memory, events, 1) {}

  static transport::CoreConfig core_config(const config::NodeConfig& node) {
    transport::CoreConfig config;
    config.ev.count = node.ev.count;
    config.ev.active = node.ev.active;
    config.ev.min_active = node.ev.min_active;
    config.base_rtt = std::chrono::milliseconds(1);  // the window is not what is measured
    return config;
  }
  void connect(const config::NodeConfig& own, const config::NodeConfig& peer) {
    qp = core.create_qp({Qpn(0x20), this, &send_queue, &receive_queue, nullptr});
    transport::QpAttributes attributes;
    attributes.src = own.gids[0];
    attributes.dst = peer.gids[0];
    attributes.dest_qpn = Qpn(0x20);
    std::string why;
    for (auto to : {transport::QpState::kInit, transport::QpState::kRtr, transport::QpState::kRts})
      if (!core.modify_qp(Time{}, qp, to, attributes, &why)) {
        std::fprintf(stderr, "stages: %s\n", why.c_str());
        std::exit(1);
      }
  }

  path::Router router;
  OneRegion memory;
  Count events;
  transport::Core core;
  transport::SendQueue send_queue{256, 1, 0};
  transport::ReceiveQueue receive_queue{16};
  transport::Qp* qp = nullptr;
};

// One stage's samples.
class Stages {
 public:
  template <typename Work>
  void time(const std::string& name, size_t packets, Work&& work) {
    const int64_t begin = clock_ns();
    work();
    add(name, packets, clock_ns() - begin);
  }
  void add(const std::string& name, size_t packets, int64_t ns) {
    sums_[name].ns += ns;
    sums_[name].packets += packets;
  }
  void end_round() {
    for (auto& [name, sum] : sums_) {
      if (sum.packets > 0) rounds_[name].push_back(double(sum.ns) / double(sum.packets));
      sum = {};
    }
  }
  nlohmann::json medians() {
    nlohmann::json out;
    for (auto& [name, samples] : rounds_) {
      std::sort(samples.begin(), samples.end());
      out[name] = samples[samples.size() / 2];
    }
    return out;
  }

 private:
  struct Sum {
    int64_t ns = 0;
    size_t packets = 0;
  };
  std::map<std::string, Sum> sums_;
  std::map<std::string, std::vector<double>> rounds_;
};

struct Frame {
  std::array<uint8_t, 4608> bytes;
  size_t header = 0, size = 0;
};

wire::Packet received_form(const transport::TxPacket& tx) {
  wire::Packet packet;
  packet.net = tx.net.values();
  packet.transport = tx.transport;
  packet.ev = wire::ev_of(packet.net);
  return packet;
}

// Answers to the receiver's probes for reverse paths go to it at once: data is what is measured.
size_t keep_data(std::vector<transport::TxPacket>& out, size_t polled, End& to, Time now) {
  size_t kept = 0;
  for (size_t i = 0; i < polled; ++i) {
    if (wire::is_write(out[i].transport.bth.opcode)) {
      if (kept != i) out[kept] = out[i];
      ++kept;
    } else
      to.core.receive(now, out[i].port, received_form(out[i]), {});
  }
  return kept;
}

void run_round(End& a, End& b, const std::vector<uint8_t>& source, std::vector<uint8_t>& target,
               size_t message, int64_t& clock, Stages& stages) {
  static std::vector<Frame> frames(kBatch);
  std::vector<transport::TxPacket> out(kBatch), back(kBatch);
  std::vector<wire::Packet> packets(kBatch);
  std::array<uint16_t, kMaxPorts> room;
  wire::ParseOptions parse_options;
  parse_options.verify_icrc = false;
  const size_t planes = 4;
  uint32_t posted = 0;

  for (size_t batch = 0; batch < kBatches; ++batch) {
    clock += 5000;
    const Time now{Duration(clock)};
    for (int fresh = 0; fresh < 32; ++fresh) {
      transport::SendRequest* request = a.send_queue.reserve();
      if (request == nullptr) break;
      request->length = static_cast<uint32_t>(message);
      request->remote_va = (posted++ % (target.size() / message)) * message;
      request->signaled = true;
      request->segment_count = 1;
      a.send_queue.segments(request)[0] = {source.data() + request->remote_va,
                                           static_cast<uint32_t>(message)};
    }
    a.send_queue.publish();
    a.core.doorbell(now, Qpn(0x20));
    room.fill(1024);
    const int64_t begin = clock_ns();
    const size_t polled = a.core.poll(now, std::span(room).first(planes), out);
    if (polled == 0) continue;
    stages.add("send: transport core", polled, clock_ns() - begin);
    const size_t n = keep_data(out, polled, b, now);
    if (n == 0) continue;
    stages.time("send: build headers", n, [&] {
      for (size_t i = 0; i < n; ++i)
        frames[i].header = wire::build_headers(out[i].net, out[i].transport, out[i].payload_size,
                                               frames[i].bytes.data());
    });
    stages.time("send: copy payload", n, [&] {
      for (size_t i = 0; i < n; ++i)
        std::memcpy(frames[i].bytes.data() + frames[i].header, out[i].segments[0].data,
                    out[i].payload_size);
    });
    stages.time("send: ICRC and tail", n, [&] {
      for (size_t i = 0; i < n; ++i) {
        uint8_t* const frame = frames[i].bytes.data();
        const size_t end = frames[i].header + out[i].payload_size;
        wire::Icrc icrc;
        const size_t covered = wire::start_icrc(out[i].net, frame, out[i].icrc, icrc);
        icrc.update(frame + covered, end - covered);
        frames[i].size = end + wire::build_tail(out[i].payload_size, icrc, frame + end);
      }
    });
    stages.time("send: give buffers back", n, [&] {
      for (size_t i = 0; i < n; ++i) a.core.released(now, out[i].token);
    });
    stages.time("receive: parse", n, [&] {
      for (size_t i = 0; i < n; ++i)
        if (!wire::parse(std::span(frames[i].bytes.data(), frames[i].size), parse_options,
                         packets[i])
                 .ok)
          std::abort();
    });
    stages.time("receive: addresses", n, [&] {
      for (size_t i = 0; i < n; ++i)
        if (wire::is_drop(b.router.accept(out[i].port, packets[i]))) std::abort();
    });
    stages.time("receive: ICRC", n, [&] {
      for (size_t i = 0; i < n; ++i)
        if (!wire::icrc_matches(std::span(frames[i].bytes.data(), frames[i].size), packets[i],
                                b.qp->icrc_in))
          std::abort();
    });
    stages.time("receive: place payload", n, [&] {
      for (size_t i = 0; i < n; ++i)
        verbs::copy_ascending(
            target.data() + std::get<wire::WriteHeader>(packets[i].transport.body).va,
            packets[i].payload.data(), packets[i].payload.size());
    });
    stages.time("receive: transport core", n, [&] {
      for (size_t i = 0; i < n; ++i) b.core.receive(now, out[i].port, packets[i], {});
      b.core.end_of_burst(now);
    });
    // Acknowledgements, per data packet.
    stages.time("acknowledge: both cores", n, [&] {
      room.fill(1024);
      while (const size_t k = b.core.poll(now, std::span(room).first(planes), back)) {
        for (size_t i = 0; i < k; ++i)
          a.core.receive(now, back[i].port, received_form(back[i]), {});
        a.core.end_of_burst(now);
      }
    });
  }
  stages.end_round();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: stages NODE_FILE_A NODE_FILE_B [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 15;
  try {
    const config::NodeConfig node_a = config::load_node(argv[1]);
    const config::NodeConfig node_b = config::load_node(argv[2]);
    nlohmann::json report;
    for (const size_t message : {kMessage, size_t{64}}) {
      std::vector<uint8_t> source(1 << 20, 0x5A), target(1 << 20);
      End a(node_a, target), b(node_b, target);
      a.connect(node_a, node_b);
      b.connect(node_b, node_a);
      Stages stages;
      int64_t clock = 1'000'000;
      for (int i = 0; i < rounds; ++i) run_round(a, b, source, target, message, clock, stages);
      if (a.events.completed == 0) {
        std::fprintf(stderr, "stages: nothing completed\n");
        return 1;
      }
      report[message == 64 ? "64 B writes" : "64 KiB writes"] = stages.medians();
    }
    std::printf("%s\n", report.dump(2).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stages: %s\n", error.what());
    return 1;
  }
  return 0;
}
