// The queues between application and worker, and the core's own: capacity, order, wrap.
#include <catch2/catch.hpp>
#include <deque>

#include "base/random.h"
#include "transport/control.h"
#include "transport/send_queue.h"

namespace softmrc::transport {
namespace {

TEST_CASE("capacities are rounded up to powers of two, and never 0") {
  CHECK(SendQueue(0, 0, 0).capacity() == 1);
  CHECK(SendQueue(0, 0, 0).max_segments() == 1);
  CHECK(SendQueue(1, 1, 0).capacity() == 1);
  CHECK(SendQueue(5, 16, 8).capacity() == 8);
  CHECK(ReceiveQueue(0).capacity() == 1);
  CHECK(ReceiveQueue(9).capacity() == 16);
}

TEST_CASE("a send queue: full, published, freed, and each slot its own segments and inline bytes") {
  SendQueue queue(3, 2, 8);
  CHECK(queue.max_inline() == 8);
  for (uint32_t round = 0; round < 5; ++round) {
    const uint32_t base = 4 * round;
    for (uint32_t i = 0; i < 4; ++i) {
      SendRequest* request = queue.reserve();
      REQUIRE(request != nullptr);
      CHECK(request->wr_id == 0);  // of the slot's last user nothing is left
      request->wr_id = base + i;
      request->segment_count = 1;
      REQUIRE(queue.inline_data(request).size() == 8);
      queue.inline_data(request)[7] = static_cast<uint8_t>(base + i);
      REQUIRE(queue.segments(request).size() == 2);
      queue.segments(request)[0] = {queue.inline_data(request).data() + 7, 1};
      CHECK(queue.published() == base);
    }
    CHECK(queue.reserve() == nullptr);
    queue.publish();
    CHECK(queue.published() == base + 4);
    for (uint32_t i = base; i < base + 4; ++i) {
      CHECK(queue.at(i).wr_id == i);
      REQUIRE(queue.segments_at(i).size() == 1);
      CHECK(*queue.segments_at(i)[0].data == i);
    }
    CHECK(queue.reserve() == nullptr);
    queue.free_up_to(base + 4);
    CHECK(queue.freed() == base + 4);
  }
}

TEST_CASE("a receive queue gives back what was posted, in order, and refuses what does not fit") {
  ReceiveQueue queue(6);
  std::deque<uint64_t> model;
  Random random(3);
  for (uint64_t i = 0; i < 10'000; ++i) {
    if (random.below(2) == 0) {
      const bool fits = model.size() < queue.capacity();
      REQUIRE(queue.post(i) == fits);
      if (fits) model.push_back(i);
    } else {
      uint64_t wr_id = 0;
      REQUIRE(queue.take(&wr_id) == !model.empty());
      if (model.empty()) continue;
      REQUIRE(wr_id == model.front());
      model.pop_front();
    }
  }
}

TEST_CASE("a bounded queue is a deque of that length") {
  BoundedQueue<uint32_t, 8> queue;
  std::deque<uint32_t> model;
  Random random(4);
  for (uint32_t i = 0; i < 10'000; ++i) {
    if (random.below(2) == 0) {
      const bool fits = model.size() < 8;
      REQUIRE(queue.push(i) == fits);
      if (fits) model.push_back(i);
    } else if (!model.empty()) {
      REQUIRE(queue.front() == model.front());
      queue.pop();
      model.pop_front();
    }
    if (random.below(500) == 0) {
      queue.clear();
      model.clear();
    }
    REQUIRE(queue.size() == model.size());
    REQUIRE(queue.empty() == model.empty());
    REQUIRE(queue.full() == (model.size() == 8));
    for (size_t k = 0; k < model.size(); ++k) REQUIRE(queue[k] == model[k]);
  }
}

}  // namespace
}  // namespace softmrc::transport
