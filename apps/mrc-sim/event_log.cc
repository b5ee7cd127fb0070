#include "event_log.h"

#include "config/node_config.h"

namespace softmrc::tool {

EventLog::EventLog(const std::string& path) {
  if (path.empty()) return;
  file_ = std::fopen(path.c_str(), "w");
  if (file_ == nullptr) throw config::ConfigError("cannot write " + path);
}

EventLog::~EventLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void EventLog::packet(Time now, std::string_view what, const sim::Packet& packet) {
  std::fprintf(file_, "%lld %.*s %u>%u %s psn %u ev %08x%s\n",
               static_cast<long long>(now.time_since_epoch().count()),
               static_cast<int>(what.size()), what.data(), packet.source, packet.destination,
               wire::name(packet.headers.bth.opcode), packet.headers.bth.psn.value(),
               packet.ev.value(), packet.headers.bth.rtx ? " rtx" : "");
}

}  // namespace softmrc::tool
