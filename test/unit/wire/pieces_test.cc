// Frames in three pieces, as a sender that lends its payload leaves them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "samples.h"

using namespace softmrc;
using namespace softmrc::wire;
using namespace softmrc::wire::test;

namespace {

// Each piece ends where its memory ends, so that a sanitizer sees a read beyond.
class Cut {
 public:
  Cut(const std::vector<uint8_t>& frame, size_t first, size_t second)
      : head_(copy(frame, 0, first)),
        payload_(copy(frame, first, second)),
        tail_(copy(frame, second, frame.size())),
        view_({head_.get(), first}, {payload_.get(), second - first},
              {tail_.get(), frame.size() - second}) {}
  const FrameView& view() const { return view_; }
  uint8_t* payload() { return payload_.get(); }
  uint8_t* tail() { return tail_.get(); }

 private:
  static std::unique_ptr<uint8_t[]> copy(const std::vector<uint8_t>& frame, size_t begin,
                                         size_t end) {
    auto bytes = std::make_unique<uint8_t[]>(end - begin);
    std::copy(frame.begin() + static_cast<ptrdiff_t>(begin),
              frame.begin() + static_cast<ptrdiff_t>(end), bytes.get());
    return bytes;
  }
  std::unique_ptr<uint8_t[]> head_, payload_, tail_;
  FrameView view_;
};

}  // namespace

TEST_CASE("a frame cut around its payload is what it is in one piece") {
  Random random(11);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      if (!is_write(opcode)) continue;
      for (int round = 0; round < 20; ++round) {
        const Sample s = random_sample(random, opcode, network);
        std::vector<uint8_t> frame = s.frame();
        if (round % 2 == 1) frame.resize(frame.size() + 1 + random.below(40));  // Ethernet padding
        const size_t headers = header_size(s.net, s.transport);
        Cut cut(frame, headers, headers + s.payload.size());
        Packet whole, pieces;
        REQUIRE(parse(frame, {}, whole).ok);
        REQUIRE(parse(cut.view(), {}, pieces).ok);
        CHECK(pieces.net == whole.net);
        CHECK(pieces.transport == whole.transport);
        CHECK(pieces.layout == whole.layout);
        CHECK(pieces.payload.data() == cut.view().payload().data());
        CHECK(std::ranges::equal(pieces.payload, s.payload));

        if (s.payload.empty()) continue;
        cut.payload()[random.below(static_cast<uint32_t>(s.payload.size()))] ^= 1;
        CHECK(parse(cut.view(), {}, pieces).drop == Outcome::drop_icrc);
      }
    }
  }
}

TEST_CASE("a frame cut anywhere else is not ok, and nothing is read beyond its pieces") {
  Random random(12);
  for (const Network network : kNetworks) {
    for (const Opcode opcode : kOpcodes) {
      const Sample s = random_sample(random, opcode, network);
      const std::vector<uint8_t> frame = s.frame();
      const size_t headers = header_size(s.net, s.transport);
      for (size_t first = 0; first <= frame.size(); ++first) {
        const size_t second = first + random.below(static_cast<uint32_t>(frame.size() - first) + 1);
        const Cut cut(frame, first, second);
        Packet p;
        const bool around = first == headers && second == headers + s.payload.size();
        CHECK(parse(cut.view(), {}, p).ok == around);
      }
    }
  }
}

TEST_CASE("a flipped bit of pad or ICRC behind the payload is found") {
  Random random(13);
  Sample s = random_sample(random, Opcode::kWriteOnly, Network::kSrv6Srh);
  s.payload.assign(1021, 0x77);
  const std::vector<uint8_t> frame = s.frame();
  const size_t headers = header_size(s.net, s.transport);
  Cut cut(frame, headers, headers + s.payload.size());
  Packet p;
  for (size_t bit = 0; bit < 8 * cut.view().tail().size(); ++bit) {
    cut.tail()[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    CHECK(parse(cut.view(), {}, p).drop == Outcome::drop_icrc);
    cut.tail()[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  CHECK(parse(cut.view(), {}, p).ok);
}
