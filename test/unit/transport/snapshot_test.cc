// The declared tables of the transport, as the files beside this one hold them.
#include "../snapshot.h"

#include <sstream>

#include "pair.h"

using namespace softmrc;
using transport::QpState;
using transport::RequestStatus;

namespace {

void compare(const char* file, const std::ostringstream& text) {
  test::check_snapshot(std::string(SOFTMRC_SNAPSHOT_DIR "/") + file, text.str());
}

}  // namespace

TEST_CASE("QP states: every pair, with its transition or without") {
  std::ostringstream text;
  for (size_t from = 0; from < transport::kQpStates; ++from) {
    const auto a = static_cast<QpState>(from);
    text << name(a) << (can_receive(a) ? ": receives" : ":") << (can_send(a) ? ", sends" : "")
         << "\n";
    for (size_t to = 0; to < transport::kQpStates; ++to) {
      const auto* t = find_transition(a, static_cast<QpState>(to));
      text << "  -> " << name(static_cast<QpState>(to)) << ": "
           << (t == nullptr    ? "refused"
               : t->attributes ? "with attributes"
                               : "yes")
           << "\n";
    }
  }
  compare("qp_state.txt", text);
}

TEST_CASE("how requests end: every status") {
  std::ostringstream text;
  for (int s = 0; s <= static_cast<int>(RequestStatus::kFlushed); ++s)
    text << s << " " << name(static_cast<RequestStatus>(s)) << "\n";
  text << "beyond: " << name(static_cast<RequestStatus>(200)) << ", "
       << name(static_cast<QpState>(200)) << "\n";
  compare("request_status.txt", text);
}
