// The tables of endpoint requests and replies.
#include "transport/endpoint.h"

#include <algorithm>

namespace softmrc::transport {

std::optional<uint16_t> EndpointRequests::start(Time now, const EndpointOperation& operation,
                                                DestinationGroup* prober) {
  if (count_ == requests_.size() && !grow()) return std::nullopt;
  // Counting on from the last one keeps an identifier out of use for as long as possible, so that
  // late answers match nothing.
  uint16_t id;
  do id = endpoint_id(next_++, core_, false);
  while (slot(id).used);
  slot(id) = {operation, prober, kLongAgo, now + operation.timeout, id, true};
  ++count_;
  next_timeout_ = std::min(next_timeout_, now + operation.timeout);
  to_send_.push_back(id);
  return id;
}

bool EndpointRequests::grow() {
  if (requests_.size() == kMost) return false;
  std::vector<Request> old(requests_.empty() ? 8 : 2 * requests_.size());
  old.swap(requests_);
  for (const Request& request : old)
    if (request.used) slot(request.id) = request;
  return true;
}

EndpointRequests::Request* EndpointRequests::find(uint16_t id) {
  if (requests_.empty()) return nullptr;
  Request& request = slot(id);
  return request.used && request.id == id ? &request : nullptr;
}

std::optional<EndpointRequests::Request> EndpointRequests::take_expired(Time now) {
  if (now < next_timeout_) return std::nullopt;
  next_timeout_ = kNever;
  std::optional<Request> expired;
  for (Request& request : requests_) {
    if (!request.used) continue;
    if (!expired && request.deadline <= now) {
      expired = request;
      std::erase(to_send_, request.id);
      finish(request);
    } else {
      next_timeout_ = std::min(next_timeout_, request.deadline);
    }
  }
  return expired;
}

void EndpointRequests::forget(const DestinationGroup* prober) {
  for (Request& request : requests_) {
    if (!request.used || request.prober != prober) continue;
    std::erase(to_send_, request.id);
    finish(request);
  }
}

bool EndpointReplies::push(const Reply& reply) {
  if (replies_.size() - first_ == kMost) return false;
  if (first_ == kMost) {
    replies_.erase(replies_.begin(), replies_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  replies_.push_back(reply);
  return true;
}

}  // namespace softmrc::transport
