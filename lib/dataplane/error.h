// What opening a node throws: the message names the port or setting that failed, and numbers.
#pragma once

#include <stdexcept>

namespace softmrc::dataplane {

struct NodeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace softmrc::dataplane
