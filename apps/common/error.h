// What ends a run early. The text is for the user: it goes to the screen, to the peer and into the
// JSON file.
#pragma once

#include <stdexcept>

namespace softmrc::apps {

struct AppError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The other end failed, or is gone: telling it about our own end makes no sense.
struct PeerError : AppError {
  using AppError::AppError;
};
// Ctrl-C.
struct Interrupted : AppError {
  Interrupted() : AppError("interrupted") {}
};

}  // namespace softmrc::apps
