// A golden packet's `fields` as the values of wire/packet.h, and back: one table serves both ways.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "vector_file.h"
#include "wire/packet.h"

namespace softmrc::vectors {

// What the builder takes.
struct Values {
  wire::NetworkHeaders net;
  wire::TransportHeaders transport;
  std::vector<uint8_t> payload;
};
// Throws FormatError on a field that is missing, of the wrong type or out of its range.
Values to_values(const nlohmann::json& fields);

struct Difference {
  std::string field, expected, got;
};
// The first field, in the order of the wire, in which `fields` and what was parsed from `frame`
// differ. A field that this packet cannot have is a difference too.
std::optional<Difference> compare(const nlohmann::json& fields, const wire::Packet& packet,
                                  std::span<const uint8_t> frame);

// fields[key] if it is there, as a number of at most `bits` bits. Throws FormatError.
std::optional<uint64_t> number(const nlohmann::json& fields, const char* key, unsigned bits);

}  // namespace softmrc::vectors
