#include "control/ev_fields.h"

#include <bit>
#include <cerrno>
#include <limits>

namespace softmrc::control {
namespace {

// Bits of a byte array, the most significant of byte 0 first.
class BitReader {
 public:
  explicit BitReader(const uint8_t* bytes) : bytes_(bytes) {}
  uint32_t take(uint32_t bits) {
    uint32_t value = 0;
    for (; bits > 0; --bits, ++at_) value = value << 1 | (bytes_[at_ / 8] >> (7 - at_ % 8) & 1u);
    return value;
  }
  uint32_t at() const { return at_; }

 private:
  const uint8_t* bytes_;
  uint32_t at_ = 0;
};

class BitWriter {
 public:
  explicit BitWriter(uint8_t* zeroed) : bytes_(zeroed) {}
  void put(uint32_t value, uint32_t bits) {
    for (; bits > 0; --bits, ++at_)
      bytes_[at_ / 8] |= static_cast<uint8_t>((value >> (bits - 1) & 1u) << (7 - at_ % 8));
  }

 private:
  uint8_t* bytes_;
  uint32_t at_ = 0;
};

uint32_t low_bits(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }
uint32_t raw_width(const mrc_ctl_ev_field& field) {
  return static_cast<uint32_t>(std::popcount(field.mask));
}

// The raw bits, the most significant first, into the set bits of the mask, likewise.
uint32_t field_value(const mrc_ctl_ev_field& field, uint32_t raw) {
  uint32_t value = field.init_val & ~field.mask;
  for (uint32_t left = field.mask; left != 0; left &= left - 1, raw >>= 1)
    if ((raw & 1) != 0) value |= left & -left;
  return value;
}

}  // namespace

std::vector<mrc_ctl_ev_field> whole_fields(const FormatProfile& format) {
  std::vector<mrc_ctl_ev_field> fields;
  for (const uint8_t width : format.widths)
    fields.push_back({width, 0, 0, low_bits(width), low_bits(width)});
  return fields;
}

int check_fields(Fields fields, const FormatProfile& format) {
  if (fields.size() > format.widths.size()) return E2BIG;
  for (size_t i = 0; i < fields.size(); ++i) {
    const mrc_ctl_ev_field& field = fields[i];
    if (field.width == 0 || field.width > format.widths[i]) return EINVAL;
    const uint32_t all = low_bits(field.width);
    if ((field.init_val & ~all) != 0 || (field.mask & ~all) != 0) return EINVAL;
    if (field.max_val > low_bits(raw_width(field)) || field.min_val > field.max_val) return EINVAL;
  }
  return 0;
}

bool in_range(const mrc_ctl_ev_t& value, Fields fields) {
  BitReader bits(value);
  for (const mrc_ctl_ev_field& field : fields) {
    const uint32_t raw = bits.take(raw_width(field));
    if (raw < field.min_val || raw > field.max_val) return false;
  }
  while (bits.at() < 8 * sizeof value)
    if (bits.take(1) != 0) return false;
  return true;
}

ExpandedEv expand(const mrc_ctl_ev_t& value, Fields fields, const FormatProfile& format) {
  ExpandedEv expanded{};
  BitReader from(value);
  BitWriter to(expanded.data());
  for (size_t i = 0; i < fields.size(); ++i)
    to.put(field_value(fields[i], from.take(raw_width(fields[i]))), format.widths[i]);
  return expanded;
}

uint64_t combinations(Fields fields) {
  uint64_t product = 1;
  for (const mrc_ctl_ev_field& field : fields) {
    const uint64_t values = uint64_t{field.max_val} - field.min_val + 1;
    if (product > std::numeric_limits<uint64_t>::max() / values)
      return std::numeric_limits<uint64_t>::max();
    product *= values;
  }
  return product;
}

void generate(Fields fields, uint64_t index, mrc_ctl_ev_t& value) {
  std::vector<uint32_t> raw(fields.size());
  for (size_t i = fields.size(); i-- > 0;) {
    const uint64_t values = uint64_t{fields[i].max_val} - fields[i].min_val + 1;
    raw[i] = fields[i].min_val + static_cast<uint32_t>(index % values);
    index /= values;
  }
  std::fill(std::begin(value), std::end(value), uint8_t{0});
  BitWriter bits(value);
  for (size_t i = 0; i < fields.size(); ++i) bits.put(raw[i], raw_width(fields[i]));
}

}  // namespace softmrc::control
