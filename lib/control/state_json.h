// The device's state as text, and back.
#pragma once

#include <string>

#include "control/state.h"

namespace softmrc::control {

std::string to_json(const DeviceState& state);
// Throws std::exception on what to_json() has not written.
DeviceState from_json(const std::string& text);

}  // namespace softmrc::control
