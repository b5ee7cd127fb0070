// The srv6 section: block, paths to destination groups as lists of uSIDs, and each destination's
// downlink. A uSID is written as four hex digits in which p stands for a digit of the plane number
// and u for one of the uplink number ("2puu"), as a mapping with masks where digits are too coarse,
// or as one of the words t0 (the sending plane's own T0) and downlink (the destination's).
#include <bit>
#include <charconv>

#include "config/sections.h"

namespace softmrc::config {
namespace {

struct Usid {
  uint16_t base = 0, plane_mask = 0, uplink_mask = 0;
};

Usid parse_pattern(const Value& value) {
  const std::string given = value.text();
  std::string_view digits = given;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const auto wrong = [&] {
    return value.error("'" + given +
                       "' is no uSID: t0, downlink, or four of the hex digits, p (plane) and u "
                       "(uplink)");
  };
  if (digits.size() != 4) throw wrong();
  Usid usid;
  for (size_t i = 0; i < 4; ++i) {
    const unsigned shift = 4 * (3 - static_cast<unsigned>(i));
    const auto nibble = static_cast<uint16_t>(0xF << shift);
    if (digits[i] == 'p') {
      usid.plane_mask |= nibble;
    } else if (digits[i] == 'u') {
      usid.uplink_mask |= nibble;
    } else {
      unsigned digit = 0;
      const auto [stop, status] = std::from_chars(&digits[i], &digits[i] + 1, digit, 16);
      if (status != std::errc() || stop != &digits[i] + 1) throw wrong();
      usid.base |= static_cast<uint16_t>(digit << shift);
    }
  }
  return usid;
}

Usid read_usid(const Value& value) {
  if (!value.node().IsMap()) return parse_pattern(value);
  Usid usid;
  Fields fields(value);
  usid.base = static_cast<uint16_t>(fields.require("usid").integer(0, kMaxUsid));
  fields.integer("plane_mask", usid.plane_mask, 0, kMaxUsid);
  fields.integer("uplink_mask", usid.uplink_mask, 0, kMaxUsid);
  fields.finish();
  if ((usid.base & (usid.plane_mask | usid.uplink_mask)) != 0 ||
      (usid.plane_mask & usid.uplink_mask) != 0) {
    throw value.error("usid, plane_mask and uplink_mask share bits");
  }
  return usid;
}

// "2001:db8::/32"; bits beyond the length must be 0.
IpAddress read_prefix(const Value& value, uint8_t& length) {
  const std::string given = value.text();
  const size_t slash = given.find('/');
  const auto address = parse_ip(std::string_view(given).substr(0, slash));
  const auto wrong = [&](const char* why) {
    return value.error("'" + given + "' is not an IPv6 prefix (address/length): " + why);
  };
  if (slash == std::string::npos) throw wrong("no length");
  if (!address || address->is_v4()) throw wrong("no IPv6 address");
  const char* end = given.data() + given.size();
  const auto [stop, status] = std::from_chars(given.data() + slash + 1, end, length);
  if (status != std::errc() || stop != end || length > 128) throw wrong("length not in 0..128");
  for (unsigned bit = length; bit < 128; ++bit) {
    if ((address->bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) throw wrong("bits beyond the length");
  }
  return *address;
}

Srv6TemplateConfig read_template(const Value& value, UsidFormat format, const IpAddress& block) {
  Srv6TemplateConfig result;
  result.format = format;
  result.block = block;
  Fields fields(value);
  result.prefix = read_prefix(fields.require("destinations"), result.prefix_length);
  fields.integer("uplinks", result.uplinks, 1, kMaxUplinks);
  const Value path = fields.require("path");
  fields.finish();

  const size_t capacity = format == UsidFormat::kF3216 ? 6 : 7;
  const std::vector<Value> items = path.list();
  if (items.empty()) throw path.error("a path has at least one uSID");
  if (items.size() > 2 * capacity) {
    throw path.error("two containers hold at most " + std::to_string(2 * capacity) + " uSIDs");
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const Value& item = items[i];
    const bool word = item.node().IsScalar();
    Usid usid;
    if (word && item.text() == "t0") {
      if (i != 0) throw item.error("t0 is the first switch of a path");
      result.own_t0_index = i;
    } else if (word && item.text() == "downlink") {
      if (i + 1 != items.size()) throw item.error("downlink is the last uSID of a path");
      result.downlink_index = i;
    } else {
      usid = read_usid(item);
      // Numbers start at 0, which would leave the end-of-container mark.
      if (usid.base == 0) throw item.error("a uSID must not be 0, for any plane and uplink");
      const auto fits = [](uint16_t mask, uint32_t numbers) {
        return mask == 0 || numbers <= uint32_t{1} << std::popcount(mask);
      };
      if (!fits(usid.uplink_mask, result.uplinks)) {
        throw item.error("the uplink bits cannot hold " + std::to_string(result.uplinks) +
                         " numbers");
      }
    }
    result.usids.push_back(usid.base);
    result.plane_mask.push_back(usid.plane_mask);
    result.uplink_mask.push_back(usid.uplink_mask);
  }
  return result;
}

}  // namespace

void read_srv6(const Value& section, NodeConfig& config) {
  Fields fields(section);
  UsidFormat format = UsidFormat::kF3216;
  fields.choice<UsidFormat>("format", format,
                            {{"f3216", UsidFormat::kF3216}, {"f1616", UsidFormat::kF1616}});
  const Value block_value = fields.require("block");
  uint8_t block_length = 0;
  const IpAddress block = read_prefix(block_value, block_length);
  const uint8_t wanted = format == UsidFormat::kF3216 ? 32 : 16;
  if (block_length != wanted) {
    throw block_value.error("this format has a /" + std::to_string(wanted) + " block");
  }
  if (block.is_zero()) throw block_value.error("the block is all zero");
  for (const Value& item : fields.require("templates").list()) {
    config.templates.push_back(read_template(item, format, block));
  }
  if (const auto destinations = fields.take("destinations")) {
    for (const Value& item : destinations->list()) {
      Fields destination(item);
      config.destinations.push_back(
          {destination.require("address").address(),
           static_cast<uint16_t>(destination.require("downlink_usid").integer(1, kMaxUsid))});
      destination.finish();
    }
  }
  fields.finish();
}

}  // namespace softmrc::config
