// What is written and how it is checked. Content follows from a seed and differs from message to
// message and from pass to pass, so that a lost, repeated or misplaced write shows. Source and
// destination start out equal, all guard bytes; after a pass the checksums of the two whole
// buffers, guard bytes included, must be equal again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/layout.h"

namespace softmrc::apps {

inline constexpr uint8_t kGuardByte = 0xA5;

struct Pass {
  uint64_t seed = 0;      // of the direction
  uint64_t number = 0;    // counts up over the whole run
  uint64_t messages = 0;  // per QP: slots 0 to messages - 1 are written
};

void fill_guards(std::span<uint8_t> buffer);
// Writes the content of every message of the pass.
void fill_messages(const Layout& layout, const Pass& pass, std::span<uint8_t> buffer);
uint64_t checksum(std::span<const uint8_t> buffer);

// The first difference between the buffer and what the pass should have left, in words; nullopt:
// every message of the pass is as it should be and every guard byte untouched.
std::optional<std::string> find_difference(const Layout& layout, const Pass& pass,
                                           std::span<const uint8_t> buffer);

}  // namespace softmrc::apps
