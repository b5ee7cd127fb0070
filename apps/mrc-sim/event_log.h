// The event log of a run: one line per packet event. The same scenario and seed give the same file.
#pragma once

#include <cstdio>
#include <string>

#include "sim/world.h"

namespace softmrc::tool {

class EventLog final : public sim::Observer {
 public:
  explicit EventLog(const std::string& path);  // empty: none
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  void packet(Time now, std::string_view what, const sim::Packet& packet) override;

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace softmrc::tool
