// What mrc-pmd's --verify is worth: boxes hold any message size that was agreed, and a wrong byte
// anywhere in one is found.
#include "mrc-pmd/message_box.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/content.h"

using namespace softmrc::apps;
using namespace softmrc::apps::pmd;

namespace {

constexpr uint32_t kQps = 2;

// A receiver's memory in which the first `written[qp]` messages of each QP have arrived.
struct Arrived {
  Arrived(uint64_t message, std::vector<uint64_t> counts)
      : written(std::move(counts)),
        box(box_bytes(message)),
        layout(box_layout(box, message)),
        memory(box * kQps) {
    std::vector<uint8_t> sent(memory.size());
    fill(sent, box, kQps, layout, content);
    fill_guards(memory);
    for (uint32_t qp = 0; qp < kQps; ++qp)
      for (uint64_t i = 0; i < std::min(written[qp], layout.slots); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(qp * box + layout.offset(0, i));
        std::copy_n(sent.begin() + at, message, memory.begin() + at);
      }
  }
  auto found() const { return difference(memory, box, layout, content, written); }

  std::vector<uint64_t> written;
  uint64_t box;
  Layout layout;
  Content content{42, 7};
  std::vector<uint8_t> memory;
};

}  // namespace

TEST_CASE("a box has room for the largest message, and for many small ones") {
  CHECK(box_layout(box_bytes(100), 1).slots > 1000);
  CHECK(box_layout(box_bytes(100), 1 << 20).slots == 0);
  CHECK(box_layout(box_bytes(5 << 20), 5 << 20).slots == 1);
  const uint64_t box = box_bytes(1 << 20);
  const Layout layout = box_layout(box, 1 << 20);
  CHECK(layout.slots == 1);
  CHECK(layout.bytes() <= box);
}

TEST_CASE("all as it should be") {
  CHECK_FALSE(Arrived(1000, {3, 0}).found());
  CHECK_FALSE(Arrived(64, {1'000'000, 5}).found());  // more than once around
  CHECK_FALSE(Arrived(1 << 20, {1, 1}).found());
}

TEST_CASE("a wrong byte is found wherever it is") {
  const Arrived right(1000, {3, 2});
  for (const uint32_t qp : {0u, 1u}) {
    const uint64_t box = qp * right.box;
    for (const uint64_t at : {uint64_t{0},                       // before the first message
                              right.layout.offset(0, 0),         // its first byte
                              right.layout.offset(0, 1) + 999,   // a last byte
                              right.layout.offset(0, 1) + 1000,  // behind it
                              right.layout.offset(0, 5),         // of one that was not written
                              right.box - 1}) {
      Arrived wrong = right;
      wrong.memory[box + at] ^= 1;
      INFO("QP " << qp << ", byte " << at);
      CHECK(wrong.found());
    }
  }
}

TEST_CASE("a message that should have come, and content of another run") {
  Arrived missing(1000, {3, 2});
  missing.written[1] = 3;
  CHECK(missing.found());
  Arrived other(1000, {3, 2});
  other.content.run += 1;
  CHECK(other.found());
}
