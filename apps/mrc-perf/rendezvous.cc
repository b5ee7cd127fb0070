#include "rendezvous.h"

#include <algorithm>

namespace softmrc::apps::perf {

void Rendezvous::pump_now(Time now) {
  last_pump_ = now;
  check_interrupt();
  regularly_(now);
  while (auto message = channel_.poll()) messages_.push_back(*std::move(message));
}

std::optional<nlohmann::json> Rendezvous::take(const std::string& type) {
  const auto found =
      std::find_if(messages_.begin(), messages_.end(),
                   [&](const Channel::Message& message) { return message.type == type; });
  if (found == messages_.end()) return std::nullopt;
  nlohmann::json body = std::move(found->body);
  messages_.erase(found);
  return body;
}

}  // namespace softmrc::apps::perf
