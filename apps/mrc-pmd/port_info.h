// What DPDK says about a port: the things that tell whether it runs as fast as it can.
#pragma once

#include <string>

#include "host.h"

namespace softmrc::apps::pmd {

std::string port_info(const Host& host, uint32_t port);
// The driver's own counters that are not 0.
std::string port_xstats(const Host& host, uint32_t port);

}  // namespace softmrc::apps::pmd
