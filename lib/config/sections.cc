// The flat sections of a node file: ranges are those of the protocol's fields and of the libmrc
// attributes they stand for. Defaults that depend on other sections are derived at the end.
#include "config/sections.h"

#include <algorithm>

namespace softmrc::config {

void read_ev(const Value& section, EvConfig& ev) {
  Fields fields(section);
  fields.choice<EvEncoding>(
      "encoding", ev.encoding,
      {{"srv6", EvEncoding::kSrv6}, {"ecmp", EvEncoding::kEcmp}, {"stev", EvEncoding::kStev}});
  fields.integer("count", ev.count, 1, kMaxEvs);
  fields.integer("active", ev.active, 1, kMaxEvs);
  fields.integer("min_active", ev.min_active, 1, kMaxEvs);
  fields.integer("probe_successes", ev.probe_successes, 1, 100);
  fields.integer("probe_interval_us", ev.probe_interval_us, 10, 60'000'000);
  fields.finish();
}

void read_transport(const Value& section, TransportConfig& transport) {
  Fields fields(section);
  if (const auto value = fields.take("path_mtu")) {
    const uint64_t mtu = value->integer(256, 4096);
    if ((mtu & (mtu - 1)) != 0) throw value->error("must be 256, 512, 1024, 2048 or 4096");
    transport.path_mtu = static_cast<uint32_t>(mtu);
  }
  fields.choice<CongestionControl>(
      "congestion_control", transport.congestion_control,
      {{"fixed", CongestionControl::kFixedWindow}, {"nscc", CongestionControl::kNscc}});
  fields.integer("base_rtt_ns", transport.base_rtt_ns, 0, 1'000'000'000);
  fields.integer("reorder_window_ns", transport.reorder_window_ns, 100, 100'000'000);
  fields.integer("sack_threshold_bytes", transport.sack_threshold_bytes, 1, 1u << 30);
  fields.integer("timeout", transport.timeout, 0, 24);
  fields.integer("retry_linear", transport.retry_linear, 0, 7);
  fields.integer("retry_exponential", transport.retry_exponential, 0, 25);
  fields.integer("mpr", transport.mpr, 1, 255);
  fields.integer("mpr_dest", transport.mpr_dest, 1, 255);
  fields.integer("max_wimm", transport.max_wimm, 1, 4096);
  fields.integer("max_wimm_dest", transport.max_wimm_dest, 1, 4096);
  fields.finish();
}

void read_traffic_classes(const Value& section, wire::TrafficClasses& classes) {
  Fields fields(section);
  fields.integer("no_trim", classes.no_trim, 0, 63);
  fields.integer("trimmable", classes.trimmable, 0, 63);
  fields.integer("trimmable_retx", classes.trimmable_retx, 0, 63);
  fields.integer("trimmed", classes.trimmed, 0, 63);
  fields.integer("trimmed_lasthop", classes.trimmed_lasthop, 0, 63);
  fields.integer("control", classes.control, 0, 63);
  fields.finish();
  // A receiver tells a trimmed packet by its class alone.
  const uint8_t sent[] = {classes.no_trim, classes.trimmable, classes.trimmable_retx,
                          classes.control};
  const auto is_sent = [&](uint8_t dscp) {
    return std::ranges::find(sent, dscp) != std::end(sent);
  };
  if (is_sent(classes.trimmed) || is_sent(classes.trimmed_lasthop) ||
      classes.trimmed == classes.trimmed_lasthop) {
    throw section.error("trimmed and trimmed_lasthop must differ from each other and all others");
  }
}

void read_dataplane(const Value& section, NodeConfig& config) {
  Fields fields(section);
  fields.integer("workers", config.workers, 1, 64);
  if (const auto cores = fields.take("cores")) {
    for (const Value& core : cores->list()) {
      const int number = static_cast<int>(core.integer(0, 4095));
      if (std::ranges::find(config.cores, number) != config.cores.end()) {
        throw core.error("core " + std::to_string(number) + " is given twice");
      }
      config.cores.push_back(number);
    }
    if (!config.cores.empty() && config.cores.size() != config.workers) {
      throw cores->error(std::to_string(config.cores.size()) + " cores for " +
                         std::to_string(config.workers) + " workers: give one each, or none");
    }
  }
  fields.choice<Progress>("progress", config.progress,
                          {{"auto", Progress::kAuto},
                           {"dedicated", Progress::kDedicated},
                           {"inline", Progress::kInline}});
  fields.choice<Idle>("idle", config.idle,
                      {{"auto", Idle::kAuto},
                       {"spin", Idle::kSpin},
                       {"yield", Idle::kYield},
                       {"sleep", Idle::kSleep}});
  fields.choice<TransmitMode>("transmit", config.transmit,
                              {{"auto", TransmitMode::kAuto},
                               {"copy", TransmitMode::kCopy},
                               {"zero-copy", TransmitMode::kZeroCopy}});
  fields.integer("rx_descriptors", config.rx_descriptors, 64, 32768);
  fields.integer("tx_descriptors", config.tx_descriptors, 64, 32768);
  if (const auto value = fields.take("mbufs")) {
    config.mbufs = static_cast<uint32_t>(value->integer(0, 1u << 24));
    if (config.mbufs != 0 && config.mbufs < 512) throw value->error("0 (derived) or at least 512");
  }
  if (const auto value = fields.take("mbuf_size_bytes")) {
    config.mbuf_size_bytes = static_cast<uint32_t>(value->integer(0, 65'000));
    if (config.mbuf_size_bytes != 0 && config.mbuf_size_bytes < 512) {
      throw value->error("0 (a whole frame) or at least 512");
    }
  }
  if (const auto args = fields.take("eal_args")) {
    for (const Value& arg : args->list()) config.eal_args.push_back(arg.text());
  }
  fields.finish();
}

void derive_defaults(const Given& given, bool has_srv6, NodeConfig& config) {
  EvConfig& ev = config.ev;
  if (!given.encoding) ev.encoding = has_srv6 ? EvEncoding::kSrv6 : EvEncoding::kEcmp;
  const auto planes = static_cast<uint32_t>(config.planes.size());
  if (!given.ev_count && ev.encoding == EvEncoding::kSrv6) {
    uint32_t uplinks = 1;
    for (const auto& path : config.templates) uplinks = std::max<uint32_t>(uplinks, path.uplinks);
    ev.count = std::min(ev.count, planes * uplinks);
  }
  // Half of the EVs are backups, but a handful of paths is all used: more is gained by spraying
  // over them than by holding some back.
  constexpr uint32_t kFew = 16;
  if (!given.ev_active) ev.active = ev.count <= kFew ? ev.count : std::max(kFew, ev.count / 2);
  if (!given.ev_min_active) ev.min_active = std::max<uint32_t>(ev.active / 2, 1);
  if (!given.path_mtu) {
    if (const uint32_t largest = largest_path_mtu(config)) config.transport.path_mtu = largest;
  }
}

}  // namespace softmrc::config
