#include "common/content.h"

#include <isa-l/crc64.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/random.h"

namespace softmrc::apps {
namespace {

uint64_t message_seed(const Pass& pass, uint32_t qp, uint64_t slot) {
  uint64_t seed = Random(pass.seed).next();
  seed = Random(seed ^ pass.number).next();
  return Random(seed ^ (uint64_t{qp} << 40 | slot)).next();
}

void fill_message(std::span<uint8_t> message, uint64_t seed) {
  Random words(seed);
  size_t at = 0;
  for (; at + 8 <= message.size(); at += 8) {
    const uint64_t word = words.next();
    std::memcpy(&message[at], &word, 8);
  }
  if (at < message.size()) {
    const uint64_t word = words.next();
    std::memcpy(&message[at], &word, message.size() - at);
  }
}

std::optional<size_t> first_mismatch(std::span<const uint8_t> message, uint64_t seed) {
  Random words(seed);
  for (size_t at = 0; at < message.size(); at += 8) {
    const uint64_t word = words.next();
    const size_t n = std::min<size_t>(8, message.size() - at);
    if (std::memcmp(&message[at], &word, n) == 0) continue;
    uint8_t expected[8];
    std::memcpy(expected, &word, 8);
    for (size_t i = 0; i < n; ++i)
      if (message[at + i] != expected[i]) return at + i;
  }
  return std::nullopt;
}

std::optional<size_t> first_touched(std::span<const uint8_t> buffer, size_t begin, size_t end) {
  for (size_t at = begin; at < end; ++at)
    if (buffer[at] != kGuardByte) return at;
  return std::nullopt;
}

std::string describe_touched(size_t at, uint8_t value) {
  char text[96];
  std::snprintf(text, sizeof text, "guard byte at offset %zu was overwritten with 0x%02x", at,
                value);
  return text;
}

}  // namespace

void fill_guards(std::span<uint8_t> buffer) {
  std::memset(buffer.data(), kGuardByte, buffer.size());
}

void fill_messages(const Layout& layout, const Pass& pass, std::span<uint8_t> buffer) {
  for (uint32_t qp = 0; qp < layout.qps; ++qp)
    for (uint64_t slot = 0; slot < pass.messages; ++slot)
      fill_message(buffer.subspan(layout.offset(qp, slot), layout.message),
                   message_seed(pass, qp, slot));
}

uint64_t checksum(std::span<const uint8_t> buffer) {
  return crc64_ecma_refl(0, buffer.data(), buffer.size());
}

std::optional<std::string> find_difference(const Layout& layout, const Pass& pass,
                                           std::span<const uint8_t> buffer) {
  size_t guard_begin = 0;
  for (uint32_t qp = 0; qp < layout.qps; ++qp) {
    for (uint64_t slot = 0; slot < layout.slots; ++slot) {
      const size_t begin = layout.offset(qp, slot);
      if (const auto at = first_touched(buffer, guard_begin, begin))
        return describe_touched(*at, buffer[*at]);
      guard_begin = begin + layout.message;
      if (slot >= pass.messages) continue;  // content of an earlier pass, compared then
      const auto message = buffer.subspan(begin, layout.message);
      if (const auto at = first_mismatch(message, message_seed(pass, qp, slot))) {
        char text[128];
        std::snprintf(text, sizeof text,
                      "QP %u, message %llu of the pass: first wrong byte at %zu, value 0x%02x", qp,
                      static_cast<unsigned long long>(slot), *at, message[*at]);
        return text;
      }
    }
  }
  if (const auto at = first_touched(buffer, guard_begin, layout.bytes()))
    return describe_touched(*at, buffer[*at]);
  return std::nullopt;
}

}  // namespace softmrc::apps
