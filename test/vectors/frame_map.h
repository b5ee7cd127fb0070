// Which field a bit of a frame belongs to: an independent statement of every header's layout, used
// to say where two frames differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wire/packet.h"

namespace softmrc::vectors {

struct FieldPlace {
  std::string name;  // as in the file's `fields` where it has one
  size_t bit = 0;    // from the frame's first bit
  size_t bits = 0;
};

// The fields of the frame that the builder makes of these values, in the order of the wire.
std::vector<FieldPlace> map_frame(const wire::NetworkHeaders& net,
                                  const wire::TransportHeaders& transport, size_t payload_size);

// The field's value as text: a number up to 64 bits, else hexadecimal; what of it lies outside the
// frame is missing.
std::string value_at(const FieldPlace& place, std::span<const uint8_t> frame);

}  // namespace softmrc::vectors
