#include "port_info.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <vector>

#include "text.h"

namespace softmrc::apps::pmd {
namespace {

constexpr const char* kBorder = "*********************";

uint16_t dpdk_port(const dataplane::PortInfo& info) {
  uint16_t id = 0;
  rte_eth_dev_get_port_by_name(info.device.c_str(), &id);
  return id;
}

// "NAME NAME", of the bits set.
template <typename Name>
std::string bit_names(uint64_t bits, Name name) {
  std::string text;
  for (unsigned bit = 0; bit < 64; ++bit)
    if ((bits >> bit & 1) != 0)
      text.append(text.empty() ? "" : " ").append(name(uint64_t{1} << bit));
  return text.empty() ? "none" : text;
}

std::string burst_mode(uint16_t id, decltype(rte_eth_rx_burst_mode_get) get) {
  rte_eth_burst_mode mode{};
  return get(id, 0, &mode) == 0 && mode.info[0] != '\0' ? mode.info : "the driver does not say";
}

std::string firmware(uint16_t id) {
  char text[128] = "";
  return rte_eth_dev_fw_version_get(id, text, sizeof text) == 0 && text[0] != '\0'
             ? text
             : "the driver does not say";
}

std::string rss_functions(uint16_t id) {
  rte_eth_rss_conf conf{};
  if (rte_eth_dev_rss_hash_conf_get(id, &conf) != 0) return "the driver does not say";
  return format("0x%llx", static_cast<unsigned long long>(conf.rss_hf));
}

// Virtual ports say 10 Gb/s, whatever passes.
std::string speed(uint16_t id) {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
    return "unknown";
  return format("%g Gb/s", link.link_speed / 1e3);
}

std::string flow_control(uint16_t id) {
  rte_eth_fc_conf conf{};
  if (rte_eth_dev_flow_ctrl_get(id, &conf) != 0) return "the driver does not say";
  switch (conf.mode) {
    case RTE_ETH_FC_NONE:
      return "off";
    case RTE_ETH_FC_RX_PAUSE:
      return "RX pause";
    case RTE_ETH_FC_TX_PAUSE:
      return "TX pause";
    case RTE_ETH_FC_FULL:
      return "full";
  }
  return "";
}

}  // namespace

std::string port_info(const Host& host, uint32_t port) {
  const dataplane::PortInfo& info = host.port(port).info();
  const uint16_t id = dpdk_port(info);
  rte_eth_dev_info dpdk{};
  rte_eth_dev_info_get(id, &dpdk);
  rte_eth_rxq_info rx{};
  rte_eth_txq_info tx{};
  const bool queues_known =
      rte_eth_rx_queue_info_get(id, 0, &rx) == 0 && rte_eth_tx_queue_info_get(id, 0, &tx) == 0;
  const int socket = rte_eth_dev_socket_id(id);

  std::string text = format("\n  %s Infos for port %-2u %s\n", kBorder, port, kBorder);
  text += format("  Device: %s, %s (DPDK port %u)\n", host.name().c_str(), info.device.c_str(), id);
  text += format("  Driver name: %s\n", info.driver.c_str());
  text += "  Firmware version: " + firmware(id) + "\n";
  text += "  MAC address: " + to_string(info.mac) + "\n";
  text += format("  Connect to socket: %s\n", socket < 0 ? "any" : std::to_string(socket).c_str());
  text += format("  Link status: %s, as the driver has it: %s\n",
                 host.node().port_up(info.port) ? "up" : "down", speed(id).c_str());
  text += info.rate_known
              ? format("  Line rate: %g Gb/s\n", static_cast<double>(info.rate_mbps) / 1e3)
              : "  Line rate: unknown; congestion control assumes " +
                    format("%g Gb/s\n", static_cast<double>(info.rate_mbps) / 1e3);
  text +=
      format("  MTU: %u, %s; the driver's largest: %u\n", info.mtu,
             info.mtu_from_driver ? "accepted by the port" : "as the node file says", dpdk.max_mtu);
  text += format("  Queues: %u RX of %u, %u TX of %u\n", dpdk.nb_rx_queues, dpdk.max_rx_queues,
                 dpdk.nb_tx_queues, dpdk.max_tx_queues);
  text += "  RX burst function: " + burst_mode(id, rte_eth_rx_burst_mode_get) + "\n";
  text += "  TX burst function: " + burst_mode(id, rte_eth_tx_burst_mode_get) + "\n";
  if (queues_known) {
    text += format("  Descriptors: %u RX, %u TX\n", rx.nb_desc, tx.nb_desc);
    text += format("  Scattered RX: %s\n", rx.scattered_rx != 0 ? "on" : "off");
    text += "  RX offloads in use: " + bit_names(rx.conf.offloads, rte_eth_dev_rx_offload_name);
    text += "\n  TX offloads in use: " + bit_names(tx.conf.offloads, rte_eth_dev_tx_offload_name);
    text += "\n";
  } else {
    text += "  Descriptors and offloads in use: the driver does not say\n";
  }
  text += "  RX offloads offered: " + bit_names(dpdk.rx_offload_capa, rte_eth_dev_rx_offload_name);
  text +=
      "\n  TX offloads offered: " + bit_names(dpdk.tx_offload_capa, rte_eth_dev_tx_offload_name);
  text += format("\n  RSS functions offered: 0x%llx, in use: %s\n",
                 static_cast<unsigned long long>(dpdk.flow_type_rss_offloads),
                 rss_functions(id).c_str());
  text += "  Flow control: " + flow_control(id) + "\n";
  text += format("  Promiscuous mode: %s\n", rte_eth_promiscuous_get(id) == 1 ? "on" : "off");
  text += format("  Payload: %s\n", info.zero_copy ? "lent to the port" : "copied into packets");
  return text;
}

std::string port_xstats(const Host& host, uint32_t port) {
  const dataplane::PortInfo& info = host.port(port).info();
  const uint16_t id = dpdk_port(info);
  const auto count = static_cast<unsigned>(std::max(rte_eth_xstats_get_names(id, nullptr, 0), 0));
  std::vector<rte_eth_xstat_name> names(count);
  std::vector<rte_eth_xstat> values(count);
  rte_eth_xstats_get_names(id, names.data(), count);
  const int read = rte_eth_xstats_get(id, values.data(), count);
  std::string text = format("\n  ###### NIC extended statistics for port %u\n", port);
  for (int i = 0; i < read && i < static_cast<int>(count); ++i) {
    const rte_eth_xstat& value = values[static_cast<size_t>(i)];
    if (value.value != 0)
      text += format("  %s: %llu\n", names[value.id].name,
                     static_cast<unsigned long long>(value.value));
  }
  return text;
}

}  // namespace softmrc::apps::pmd
