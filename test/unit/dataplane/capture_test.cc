// The capture read back block by block (pcapng, section 4 of its specification): every frame that
// the ports counted is there, in its direction.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "node_pair.h"
#include "wire/codec.h"

using namespace softmrc;
using namespace softmrc::test;

namespace {

constexpr uint32_t kSectionHeader = 0x0A0D0D0A, kInterface = 1, kEnhancedPacket = 6;

uint32_t word(const std::vector<uint8_t>& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Capture {
  explicit Capture(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    size_t at = 0;
    while (at + 12 <= bytes.size()) {
      const uint32_t type = word(bytes, at), size = word(bytes, at + 4);
      REQUIRE(size >= 12);
      REQUIRE(at + size <= bytes.size());
      REQUIRE(word(bytes, at + size - 4) == size);
      if (type == kSectionHeader) ++sections;
      if (type == kInterface) ++interfaces;
      if (type == kEnhancedPacket) add_packet(bytes, at, size);
      at += size;
    }
    CHECK(at == bytes.size());
  }
  void add_packet(const std::vector<uint8_t>& bytes, size_t at, uint32_t size) {
    const uint32_t length = word(bytes, at + 20);
    CHECK(word(bytes, at + 24) == length);
    CHECK(word(bytes, at + 8) < interfaces);
    times.push_back(uint64_t{word(bytes, at + 12)} << 32 | word(bytes, at + 16));
    const auto frame = bytes.begin() + static_cast<ptrdiff_t>(at) + 28;
    frames.emplace_back(frame, frame + length);
    // First option: flags, whose lowest two bits are the direction.
    size_t option = at + 28 + (length + 3) / 4 * 4;
    for (; option + 4 < at + size - 4;) {
      const uint32_t head = word(bytes, option);
      if ((head & 0xFFFF) == 2) directions.push_back(word(bytes, option + 4) & 3);
      if ((head & 0xFFFF) == 0) break;
      option += 4 + ((head >> 16) + 3) / 4 * 4;
    }
  }
  unsigned sections = 0, interfaces = 0;
  std::vector<std::vector<uint8_t>> frames;
  std::vector<uint32_t> directions;
  std::vector<uint64_t> times;
};

}  // namespace

TEST_CASE("a capture holds every frame, in and out") {
  const std::string file =
      std::filesystem::temp_directory_path() / ("softmrc-" + std::to_string(getpid()) + ".pcapng");
  uint64_t received = 0, sent = 0;
  {
    NodePairOptions options;
    options.pcap_file = file;
    NodePair pair(options);
    pair.exchange(20'000, 3);
    pair.settle();
    for (const auto& plane : pair.a->node->config().planes) {
      received += pair.a->node->port_counters(plane.port).rx_packets;
      sent += pair.a->node->port_counters(plane.port).tx_packets;
    }
    pair.a.reset();  // before it could tell its peer of ports that go down when that goes
  }
  const Capture capture(file);
  std::filesystem::remove(file);
  CHECK(capture.sections == 1);
  CHECK(capture.interfaces == 2);
  REQUIRE(capture.frames.size() == received + sent);
  REQUIRE(capture.directions.size() == capture.frames.size());
  CHECK(static_cast<uint64_t>(
            std::count(capture.directions.begin(), capture.directions.end(), 1u)) == received);
  uint64_t data = 0;
  for (const auto& frame : capture.frames) {
    wire::Packet packet;
    REQUIRE(wire::parse(frame, {}, packet).ok);
    data += packet.payload.size();
  }
  CHECK(data >= 3 * 20'000);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto newest = std::chrono::nanoseconds(capture.times.back());
  CHECK(newest < now + 10s);
  CHECK(newest > now - 60s);
}

TEST_CASE("a capture that cannot be written is an error that names the file") {
  NodePairOptions options;
  options.pcap_file = "/nonexistent/x.pcapng";
  CHECK_THROWS_WITH(NodeEnd(options, 1, "nocapture"), Catch::Contains("/nonexistent/x.pcapng"));
}
