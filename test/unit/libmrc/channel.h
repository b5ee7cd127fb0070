// A completion channel whose descriptor does not block.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "world.h"

namespace test {

// Now, or within so many milliseconds.
inline bool readable(int fd, int timeout_ms = 0) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, timeout_ms) == 1;
}

struct Channel {
  explicit Channel(Side& side) {
    REQUIRE(mrc_create_comp_channel(side.mrc, &handle) == 0);
    REQUIRE(mrc_get_comp_channel_fd(handle, &fd) == 0);
    REQUIRE(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  }
  ~Channel() { CHECK(mrc_destroy_comp_channel(handle) == 0); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // 0 or the errno value; the event is acknowledged.
  int take(mrc_cq* expected, void* context) {
    mrc_cq* cq = nullptr;
    void* got = nullptr;
    if (mrc_get_cq_event(handle, &cq, &got) != 0) return errno;
    CHECK(cq == expected);
    CHECK(got == context);
    mrc_ack_cq_events(cq, 1);
    return 0;
  }
  mrc_comp_channel* handle = nullptr;
  int fd = -1;
};

}  // namespace test
