// A controller's calls in few words; they must succeed.
#pragma once

#include <vector>

#include "../ev16.h"
#include "world.h"

namespace test {

// The outer destination that `address` is the text of.
mrc_ctl_ev srv6_ev(const char* address, uint8_t port);

// Profiles of one device; taken back to INIT in the end.
class Profiles {
 public:
  explicit Profiles(Side& side) : side_(side) {}
  ~Profiles();
  Profiles(const Profiles&) = delete;
  Profiles& operator=(const Profiles&) = delete;
  // They outlive this object after all.
  void keep() {
    formats_.clear();
    evs_.clear();
    ccs_.clear();
  }

  // Formats, ONLINE: one field of 16 bits; four of 32.
  void udp_format(uint64_t id) { format(id, MRC_CTL_EV_FMT_MODE_UDP, {{16}}); }
  void srv6_format(uint64_t id) { format(id, MRC_CTL_EV_FMT_MODE_SRV6, {{32}, {32}, {32}, {32}}); }
  void format(uint64_t id, mrc_ctl_ev_fmt_mode mode, std::vector<mrc_ctl_ev_fmt_field> fields);
  // An explicit profile, ONLINE.
  void explicit_profile(uint64_t id, uint64_t format, const std::vector<mrc_ctl_ev>& evs,
                        int event_mask = 0, uint32_t min_active = 1);
  void cc_profile(uint64_t id, const char* algorithm);

  // 0, or -1 with errno.
  int set_state(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  int replace(uint64_t id, const mrc_ctl_ev& ev, const mrc_ctl_ev& by);
  int offline(uint64_t id);
  mrc_ctl_ev_state state_of(uint64_t id, const mrc_ctl_ev& ev);

 private:
  int entry(uint64_t id, mrc_ctl_ev_op op, mrc_ctl_ev_op_entry entry);
  Side& side_;
  std::vector<uint64_t> formats_, evs_, ccs_;
};

}  // namespace test
