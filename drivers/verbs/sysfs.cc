#include "sysfs.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/endian.h"
#include "dataplane/vdev_arguments.h"
#include "verbs/link_rate.h"
#include "verbs/opened_device.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::interposer {
namespace {

// Groups of four digits, as GIDs and GUIDs are written.
template <size_t size>
std::string groups(const std::array<uint8_t, size>& bytes) {
  std::string text;
  for (size_t i = 0; i < size; i += 2)
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", bytes[i], bytes[i + 1]);
  return text;
}

class Writer {
 public:
  explicit Writer(SysfsFiles& files, std::string folder = "")
      : files_(files), folder_(std::move(folder)) {}
  template <typename Value>
  void operator()(const std::string& name, const Value& value) const {
    files_[folder_ + name] = fmt::format("{}\n", value);
  }
  Writer below(const std::string& folder) const { return Writer(files_, folder_ + folder + "/"); }

 private:
  SysfsFiles& files_;
  const std::string folder_;
};

// The device while this process has it open, else nothing.
class Open {
 public:
  explicit Open(verbs::DeviceEntry& entry) : device_(verbs::opened_device(entry)) {}
  ~Open() {
    if (device_) verbs::release_device(std::move(device_));
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  // nullptr: not open, by a controller, or before fork().
  verbs::Device* get() const {
    return device_ && device_->usable() == 0 && device_->has_ports() ? device_.get() : nullptr;
  }

 private:
  std::shared_ptr<verbs::Device> device_;
};

void write_state(const Writer& write, verbs::Device* device, const config::NodeConfig& config,
                 PortId port) {
  const bool up = device == nullptr || device->port_up(port);
  write("state", up ? "4: ACTIVE" : "1: DOWN");
  write("phys_state", up ? "5: LinkUp" : "3: Disabled");
  const uint64_t rate =
      verbs::rate_mbps_of(config, port.value() - 1u, device != nullptr ? &device->node() : nullptr);
  write("rate", verbs::link_rate(rate).text);
  write("link_layer", "Ethernet");
  for (const char* lid : {"lid", "sm_lid"}) write(lid, "0x0");
  for (const char* number : {"lid_mask_count", "sm_sl"}) write(number, 0);
  write("pkeys/0", fmt::format("{:#06x}", wire::kDefaultPkey));
}

void write_gids(const Writer& write, const config::NodeConfig& config, size_t plane) {
  const verbs::DeviceBounds bounds = verbs::bounds_of(config);
  // Only a port that is an interface of the kernel has a name there.
  const std::string interface = dataplane::argument(config.planes[plane].device, "iface");
  for (size_t i = 0; i < static_cast<size_t>(bounds.gid_count); ++i) {
    const std::string index = std::to_string(i);
    write("gids/" + index, groups(bounds.gids[i % bounds.gids.size()].bytes));
    write("gid_attrs/types/" + index, "RoCE v2");
    if (!interface.empty()) write("gid_attrs/ndevs/" + index, interface);
  }
}

void write_port_counters(const Writer& port, const dataplane::Node::PortCounters& c) {
  const Writer counters = port.below("counters");
  counters("port_xmit_data", c.tx_bytes / 4);  // words of four bytes, as the kernel counts them
  counters("port_rcv_data", c.rx_bytes / 4);
  counters("port_xmit_packets", c.tx_packets);
  counters("port_rcv_packets", c.rx_packets);
  counters("port_rcv_errors", c.ierrors);
  counters("port_xmit_discards", c.tx_dropped);
  const Writer hardware = port.below("hw_counters");
  hardware("sent_pkts", c.tx_packets);
  hardware("rcvd_pkts", c.rx_packets);
}

void write_transport_counters(const Writer& write, const transport::CoreCounters& c) {
  const auto count = [&c](wire::Outcome o) { return c.outcomes[static_cast<size_t>(o)]; };
  write("duplicate_request", count(wire::Outcome::accepted_duplicate));
  write("packet_seq_err", count(wire::Outcome::accepted_nack));
  write("resp_remote_access_errors", count(wire::Outcome::rejected_access));
  write("rx_icrc_encapsulated", count(wire::Outcome::drop_icrc));
  write("local_ack_timeout_err", c.timeouts);
  write("np_ecn_marked_roce_packets", c.ce_received);
}

SysfsFiles files_of(const verbs::DeviceEntry& entry, verbs::Device* device) {
  SysfsFiles files;
  const Writer write(files);
  std::array<uint8_t, 8> guid_bytes;
  const __be64 guid_value = verbs::device_guid(entry);
  std::memcpy(guid_bytes.data(), &guid_value, sizeof guid_value);
  const std::string guid = groups(guid_bytes);
  write("node_type", "1: CA");
  write("node_desc", entry.config.name);
  write("node_guid", guid);
  write("sys_image_guid", guid);
  write("fw_ver", SOFTMRC_VERSION);
  write("hca_type", "softmrc");
  write("board_id", "softmrc");
  write("hw_rev", "0");

  const auto transport = device ? device->node().counters() : transport::CoreCounters{};
  for (size_t plane = 0; plane < entry.config.planes.size(); ++plane) {
    const PortId port(static_cast<uint8_t>(plane + 1));
    const Writer below = write.below("ports/" + std::to_string(plane + 1));
    write_state(below, device, entry.config, port);
    write_gids(below, entry.config, plane);
    write_port_counters(
        below, device ? device->node().port_counters(port) : dataplane::Node::PortCounters{});
    write_transport_counters(below.below("hw_counters"),
                             plane == 0 ? transport : transport::CoreCounters{});
  }
  return files;
}

}  // namespace

SysfsFiles sysfs_files(const verbs::DeviceEntry& entry) { return files_of(entry, nullptr); }

SysfsFiles sysfs_files_now(verbs::DeviceEntry& entry) {
  const Open open(entry);
  return files_of(entry, open.get());
}

std::string sysfs_pci_device(const verbs::DeviceEntry& entry) {
  const std::string& name = entry.config.planes.front().device;
  for (const char* domain : {"", "0000:"}) {
    std::string path = std::string("/sys/bus/pci/devices/") + domain + name;
    std::error_code error;
    if (name.find_first_of("/,") == std::string::npos && std::filesystem::exists(path, error))
      return path;
  }
  return "";
}

}  // namespace softmrc::interposer
