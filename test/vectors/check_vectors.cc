// Checks the codec against a file of golden packets: every frame that can be built is built from
// its fields and compared byte by byte, and every frame is parsed and compared field by field. One
// line per difference; last line "N passed, N failed"; exit status 0 only if all passed.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/endian.h"
#include "fields.h"
#include "frame_map.h"
#include "wire/codec.h"

namespace softmrc::vectors {

namespace {

using Failure = std::optional<std::string>;

std::string describe(const std::string& action, const Difference& d,
                     const std::string& where = "") {
  return action + ": field " + d.field + where + ": expected " + d.expected + ", got " + d.got;
}

// The field of the first bit in which the frames differ.
std::string first_difference(const Vector& vector, const Values& values,
                             std::span<const uint8_t> built) {
  const auto [expected, got] = std::ranges::mismatch(vector.frame, built);
  const auto byte = static_cast<size_t>(expected - vector.frame.begin());
  if (expected == vector.frame.end() || got == built.end()) {
    return "build: frame length: expected " + std::to_string(vector.frame.size()) + ", got " +
           std::to_string(built.size());
  }
  unsigned bit = 0;
  while (((*expected ^ *got) << bit & 0x80) == 0) ++bit;

  for (const FieldPlace& f : map_frame(values.net, values.transport, values.payload.size())) {
    if (byte * 8 + bit >= f.bit + f.bits) continue;
    return describe("build", {f.name, value_at(f, vector.frame), value_at(f, built)},
                    " at byte " + std::to_string(byte));
  }
  return "build: byte " + std::to_string(byte) + " differs";
}

Failure check_build(const Vector& vector) {
  const Values values = to_values(vector.fields);
  if (values.payload.size() > wire::kMaxPayloadSize) return "build: payload is too long";
  std::vector<uint8_t> built(wire::header_size(values.net, values.transport) +
                             values.payload.size() + wire::kMaxTailSize);
  built.resize(wire::build(values.net, values.transport, values.payload, built));
  if (built == vector.frame) return std::nullopt;
  return first_difference(vector, values, built);
}

Failure check_icrc(const Vector& vector, const wire::Packet& packet) {
  if (packet.trimmed || wire::icrc_matches(vector.frame, packet)) return std::nullopt;
  const wire::FrameLayout& at = packet.layout;
  wire::Icrc icrc;
  const size_t covered = at.ip + icrc.start(vector.frame.data() + at.ip, packet.net.ip.dst.is_v4());
  uint8_t expected[wire::kIcrcSize];
  store_le32(expected, icrc.value_with(vector.frame.data() + covered, at.icrc - covered));
  return describe("parse",
                  {"icrc", to_hex(expected, sizeof expected),
                   to_hex(vector.frame.data() + at.icrc, wire::kIcrcSize)},
                  " at byte " + std::to_string(at.icrc));
}

Failure check_parse(const Vector& vector) {
  // Fields are compared before the ICRC is, so that a difference is named by its field.
  wire::ParseOptions options;
  options.verify_icrc = false;
  options.udp_port =
      static_cast<uint16_t>(number(vector.fields, "dport", 16).value_or(wire::kDefaultUdpPort));

  wire::Packet packet;
  wire::ParseResult result = wire::parse(vector.frame, options, packet);
  if (number(vector.fields, "tver", 4).value_or(0) != 0) {
    if (!result.ok && result.drop == wire::Outcome::drop_bth_version) return std::nullopt;
    return "parse: field tver: expected drop_bth_version, got " +
           std::string(result.ok ? "an accepted packet" : name(result.drop));
  }
  if (!result.ok) return "parse: expected a packet, got " + std::string(name(result.drop));
  if (const auto d = compare(vector.fields, packet, vector.frame)) return describe("parse", *d);
  if (Failure f = check_icrc(vector, packet)) return f;

  options.verify_icrc = true;
  result = wire::parse(vector.frame, options, packet);
  if (!result.ok) return "parse: expected a packet, got " + std::string(name(result.drop));
  return std::nullopt;
}

bool check(const nlohmann::json& entry, size_t index) {
  const std::string name = name_of(entry, index);
  bool passed = true;
  const auto run = [&](Failure (*step)(const Vector&), const Vector& vector) {
    Failure failure;
    try {
      failure = step(vector);
    } catch (const FormatError& e) {
      failure = e.what();
    }
    if (failure) std::printf("FAIL %s: %s\n", name.c_str(), failure->c_str());
    passed = passed && !failure;
  };

  try {
    const Vector vector = read_vector(entry);
    if (!vector.parse_only) run(check_build, vector);
    run(check_parse, vector);
  } catch (const FormatError& e) {
    std::printf("FAIL %s: %s\n", name.c_str(), e.what());
    passed = false;
  }
  return passed;
}

int check_file(const char* path) {
  size_t passed = 0, failed = 0;
  try {
    const nlohmann::json list = load(path);
    for (size_t i = 0; i < list.size(); ++i) ++(check(list[i], i) ? passed : failed);
    if (list.empty()) std::printf("%s: no packets\n", path);
  } catch (const FormatError& e) {
    std::printf("%s\n", e.what());
    ++failed;
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace

}  // namespace softmrc::vectors

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  return softmrc::vectors::check_file(argv[1]);
}
