// The golden packets' file format: a JSON list of packets, each with `name`, `fields`, `frame`
// (hex, whole Ethernet frame without FCS) and, where a frame can only be read, "use": "parse".
// Field names and their meaning: test/vectors/README.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "wire/packet.h"

namespace softmrc::vectors {

// What is wrong with a file, a packet or a field, in words.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Vector {
  nlohmann::json fields;  // an object
  std::vector<uint8_t> frame;
  bool parse_only = false;
};

std::vector<uint8_t> from_hex(const std::string& text);
std::string to_hex(const uint8_t* data, size_t size);

// The list of packets, still as JSON. Throws FormatError.
nlohmann::json load(const std::string& path);
// One entry of it. Throws FormatError.
Vector read_vector(const nlohmann::json& entry);
// Its name, or its place in the list if it has none.
std::string name_of(const nlohmann::json& entry, size_t index);

}  // namespace softmrc::vectors
