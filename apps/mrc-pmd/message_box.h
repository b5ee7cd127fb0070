// Where one QP's messages lie, in the sender's memory as in the receiver's, and what is in them.
// The memory of a connection is a box per QP, all of one size whatever the message size is, so that
// sizes can change while a connection lasts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/layout.h"

namespace softmrc::apps::pmd {

// Bytes of a QP's box: room for messages of up to `largest` bytes.
uint64_t box_bytes(uint64_t largest_message);
// Of messages of this size in such a box; slots 0 if they do not fit.
Layout box_layout(uint64_t box, uint64_t message_size);

// What a sender's memory holds during a run: content that differs from QP to QP and run to run.
struct Content {
  uint64_t seed = 0;
  uint64_t run = 0;
};

// Fills every slot of every QP's box.
void fill(std::span<uint8_t> memory, uint64_t box, uint32_t qps, const Layout& layout,
          const Content& content);
// The first difference between what a receiver has and what it should have, when the first
// `written[qp]` slots of each QP have been written and nothing else.
std::optional<std::string> difference(std::span<const uint8_t> memory, uint64_t box,
                                      const Layout& layout, const Content& content,
                                      const std::vector<uint64_t>& written);

}  // namespace softmrc::apps::pmd
