// uSID containers: composing, reading and the NEXT-CSID shift, by offset.
#include "path/usid.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstring>

#include "base/endian.h"

namespace softmrc::path {

IpAddress compose(UsidFormat format, const IpAddress& block, std::span<const uint16_t> usids) {
  assert(usids.size() <= usid_capacity(format));
  IpAddress container;
  size_t at = block_bytes(format);
  std::copy_n(block.bytes.begin(), at, container.bytes.begin());
  for (const uint16_t usid : usids) {
    container.bytes[at++] = static_cast<uint8_t>(usid >> 8);
    container.bytes[at++] = static_cast<uint8_t>(usid);
  }
  return container;
}

bool has_block(UsidFormat format, const IpAddress& block, const IpAddress& container) {
  return std::memcmp(block.bytes.data(), container.bytes.data(), block_bytes(format)) == 0;
}

uint16_t usid_at(UsidFormat format, const IpAddress& container, size_t index) {
  assert(index < usid_capacity(format));
  return load_be16(container.bytes.data() + block_bytes(format) + 2 * index);
}

size_t usid_count(UsidFormat format, const IpAddress& container) {
  size_t count = 0;
  while (count < usid_capacity(format) && usid_at(format, container, count) != 0) ++count;
  return count;
}

uint16_t last_usid(UsidFormat format, const IpAddress& container) {
  const size_t count = usid_count(format, container);
  for (size_t i = count; i < usid_capacity(format); ++i) {
    if (usid_at(format, container, i) != 0) return 0;
  }
  return count == 0 ? uint16_t{0} : usid_at(format, container, count - 1);
}

IpAddress shift(UsidFormat format, const IpAddress& container) {
  IpAddress next = container;
  const auto start = static_cast<ptrdiff_t>(block_bytes(format));
  std::copy(container.bytes.begin() + start + 2, container.bytes.end(), next.bytes.begin() + start);
  next.bytes[14] = next.bytes[15] = 0;
  return next;
}

std::string usid_text(uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", usid);
  return text;
}

}  // namespace softmrc::path
