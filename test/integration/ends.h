// Ends of connections between processes over memif, and a controller without ports, for tests of
// what one device's processes share.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "../unit/libmrc/control_calls.h"
#include "../unit/libmrc/world.h"

namespace test {

inline constexpr uint32_t kPackets = 64;  // the largest write
mrc_ctl_ev path(size_t place);            // of four, SRv6, on ports 1 and 2 in turn

// A device with two ports, as one process has it: devices of one name are the same one. `link`
// names the memif sockets; the server of a link is side a, the client side b.
softmrc::verbs::DeviceEntry* device(const std::string& run, const std::string& name, bool server,
                                    const std::string& link = "memif");

// What two ends tell each other.
struct Hello {
  ibv_gid gid;
  uint32_t qpn, rkey;
  uint64_t address;
};

using Sent = std::array<uint64_t, 4>;  // packets, by place in the profile

struct Paths {
  Sent sent{};
  std::array<bool, 4> denied{};  // as the QP has it at that moment
};

class End {
 public:
  explicit End(softmrc::verbs::DeviceEntry* entry);
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  Hello hello() const;
  // With an EV profile by its id; 0: as the node does.
  void connect(const Hello& peer, uint64_t profile);
  void send(uint32_t packets = kPackets);  // one write
  // Drives the device; a write that has completed has succeeded. True: one has.
  bool progress();
  Paths paths() const;
  // The path of a place loses everything that this end sends, probes included; all are mended.
  void cut(size_t place);
  void mend();

 private:
  struct OpenSide : Side {
    explicit OpenSide(softmrc::verbs::DeviceEntry* opened) { open(opened); }
    ~OpenSide() { close(); }
  } side_;
  mrc_qp* qp_ = nullptr;
  Buffer memory_;
  Hello peer_{};
};

// The device, without ports.
struct Controller {
  explicit Controller(softmrc::verbs::DeviceEntry* entry);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  Side side;
};

}  // namespace test
