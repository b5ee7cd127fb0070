#include "message_box.h"

#include <algorithm>

#include "common/content.h"

namespace softmrc::apps::pmd {
namespace {

constexpr uint64_t kSmallestRegion = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 64;  // of slots: a cache line
constexpr uint64_t kGap = 64;        // guard between slots

uint64_t stride_of(uint64_t message) {
  return (message + kAlignment - 1) / kAlignment * kAlignment + kGap;
}

Pass pass_of(const Content& content, uint32_t qp, uint64_t messages) {
  return {content.seed + qp, content.run, messages};
}

}  // namespace

uint64_t box_bytes(uint64_t largest_message) {
  return 2 * Layout::kGuard + std::max(kSmallestRegion, stride_of(largest_message));
}

Layout box_layout(uint64_t box, uint64_t message_size) {
  const uint64_t stride = stride_of(message_size);
  return {.message = message_size,
          .stride = stride,
          .slots = (box - 2 * Layout::kGuard) / stride,
          .qps = 1};
}

void fill(std::span<uint8_t> memory, uint64_t box, uint32_t qps, const Layout& layout,
          const Content& content) {
  fill_guards(memory);
  for (uint32_t qp = 0; qp < qps; ++qp)
    fill_messages(layout, pass_of(content, qp, layout.slots), memory.subspan(qp * box, box));
}

std::optional<std::string> difference(std::span<const uint8_t> memory, uint64_t box,
                                      const Layout& layout, const Content& content,
                                      const std::vector<uint64_t>& written) {
  for (uint32_t qp = 0; qp < written.size(); ++qp) {
    const Pass pass = pass_of(content, qp, std::min(written[qp], layout.slots));
    const auto found = memory.subspan(qp * box, box);
    if (auto text = find_difference(layout, pass, found))
      return "QP " + std::to_string(qp) + " of the connection: " + *std::move(text);
    // Slots not reached yet are as untouched as the guard bytes around them.
    const auto rest = found.subspan(layout.offset(0, pass.messages));
    if (std::any_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte != kGuardByte; }) &&
        pass.messages < layout.slots)
      return "QP " + std::to_string(qp) + " of the connection: written beyond its last message";
  }
  return std::nullopt;
}

}  // namespace softmrc::apps::pmd
