#include "dataplane/vdev_arguments.h"

#include <net/if.h>
#include <rte_kvargs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "dataplane/error.h"
#include "telemetry/log.h"

namespace softmrc::dataplane {

namespace {

class Socket {
 public:
  explicit Socket(int domain, int type) : fd_(socket(domain, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// 0: no such interface.
uint32_t interface_mtu(const std::string& interface) {
  const Socket any(AF_INET, SOCK_DGRAM);
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  return ioctl(any.fd(), SIOCGIFMTU, &request) == 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

// memif's bsize and af_packet's framesz have the same default.
uint32_t buffer_size(const std::string& arguments, const char* key) {
  constexpr uint32_t kDefault = 2048;
  const std::string text = argument(arguments, key);
  return text.empty() ? kDefault : static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

uint32_t slot_size(const std::string& arguments) { return buffer_size(arguments, "framesz"); }

}  // namespace

std::string argument(const std::string& arguments, const char* key) {
  rte_kvargs* list = rte_kvargs_parse(arguments.c_str(), nullptr);
  if (list == nullptr) return "";
  const char* value = rte_kvargs_get(list, key);
  std::string result = value == nullptr ? "" : value;
  rte_kvargs_free(list);
  return result;
}

namespace memif {

bool is_client(const std::string& arguments) {
  const std::string role = argument(arguments, "role");
  return role != "server" && role != "master";
}

bool is_zero_copy(const std::string& arguments) {
  return argument(arguments, "zero-copy") == "yes";
}

void check(const std::string& arguments, uint32_t frame) {
  const uint32_t size = buffer_size(arguments, "bsize");
  if (size >= frame) return;
  throw NodeError("bsize " + std::to_string(size) + " is too small for frames of " +
                  std::to_string(frame) + " bytes: bsize=" + std::to_string(frame) + " would do");
}

void remove_stale_socket(const std::string& arguments) {
  const std::string path = argument(arguments, "socket");
  if (is_client(arguments) || argument(arguments, "socket-abstract") != "no") return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const Socket probe(AF_UNIX, SOCK_SEQPACKET);
  if (connect(probe.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED) {
    logger().info("removing {}, a memif socket nobody listens on", path);
    unlink(path.c_str());
  }
}

}  // namespace memif

namespace af_packet {

uint32_t mbuf_room(const std::string& arguments) {
  constexpr uint32_t kDriverHeader = 32;
  return slot_size(arguments) - kDriverHeader;
}

void check(const std::string& arguments, uint32_t mtu, uint32_t frame, uint32_t data_room) {
  // The frame begins this far into a slot (packet(7), TPACKET_V2).
  constexpr uint32_t kSlotHeader = 66;
  const std::string interface = argument(arguments, "iface");
  const uint32_t have = interface_mtu(interface);
  if (have == 0) throw NodeError("no network interface '" + interface + "' (iface=)");
  if (have < mtu) {
    throw NodeError("interface " + interface + " has MTU " + std::to_string(have) +
                    ", the node file says mtu " + std::to_string(mtu));
  }
  const uint32_t slot = slot_size(arguments);
  if (slot < frame + kSlotHeader) {
    const std::string enough = std::to_string(std::bit_ceil(frame + kSlotHeader));
    throw NodeError("framesz " + std::to_string(slot) + " is too small for frames of " +
                    std::to_string(frame) + " bytes: framesz=" + enough + ",blocksz=" + enough +
                    " would do");
  }
  if (data_room < mbuf_room(arguments)) {
    throw NodeError("framesz " + std::to_string(slot) + " needs mbuf_size_bytes of at least " +
                    std::to_string(mbuf_room(arguments)) + ", not " + std::to_string(data_room));
  }
}

}  // namespace af_packet

}  // namespace softmrc::dataplane
