// What the programs here share that drive both ends of connections over net_ring.
#pragma once

#include <cstdio>
#include <exception>

#include "common/endpoint.h"

namespace softmrc::bench {

// All QPs of two endpoints of this process, one by one, with the largest path MTU.
inline void connect(apps::Endpoint& one, apps::Endpoint& other) {
  apps::ConnectionAttributes attributes;
  attributes.path_mtu = 4096;
  one.connect(other.address(0), attributes);
  other.connect(one.address(0), attributes);
}

// Runs `measure` as a program's main: 1 and a message for what it throws.
inline int run(const char* program, void (*measure)(int, char**), int argc, char** argv) {
  try {
    measure(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace softmrc::bench
