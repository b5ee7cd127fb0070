#include "verification.h"

#include "common/content.h"
#include "common/error.h"

namespace softmrc::apps::perf {

void compare(Rendezvous& rendezvous, const Comparison& comparison,
             const std::function<void()>& drive) {
  nlohmann::json mine = nlohmann::json::object();
  if (comparison.sent) mine["checksum"] = checksum(comparison.source);
  rendezvous.send("checksum", mine);
  const nlohmann::json peers = rendezvous.wait_for("checksum", drive);
  if (comparison.received) {
    const uint64_t expected = peers.value("checksum", uint64_t{0});
    const uint64_t found = checksum(comparison.destination);
    if (found != expected) {
      const auto where = comparison.explain();
      throw AppError("verification failed: " +
                     where.value_or("memory written by an earlier pass has changed"));
    }
  }
  rendezvous.barrier("verified", drive);
}

}  // namespace softmrc::apps::perf
