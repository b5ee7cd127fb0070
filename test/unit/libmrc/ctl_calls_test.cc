// The contract of each mrc_ctl_* call: privilege, arguments, errors, what is told. The rules of
// profiles have tests of their own in test/unit/control.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "contract.h"
#include "control_calls.h"
#include "world.h"

using namespace test;

namespace {

// Runs in a thread without any capability in effect: they are a thread's own.
template <typename Action>
void unprivileged(Action&& action) {
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    REQUIRE(syscall(SYS_capget, &header, data) == 0);
    for (auto& word : data) word.effective = 0;
    REQUIRE(syscall(SYS_capset, &header, data) == 0);
    action();
  }).join();
}

}  // namespace

TEST_CASE_METHOD(World, "what a device offers a controller", "[ctl]") {
  mrc_ctl_device_attr attr{};
  REQUIRE(mrc_ctl_query_device(a.verbs, &attr) == 0);
  CHECK(attr.mrc_ctl_protocol_version == MRC_CTL_PROTOCOL_VERSION_1);
  CHECK(attr.ev.ev_max_fmt_profiles >= 256);
  CHECK(attr.ev.ev_max_profiles >= 256);
  CHECK(attr.ev.ev_max_count_profile >= 4096);
  CHECK(attr.ev.ev_max_count >= attr.ev.ev_max_count_profile);
  CHECK(attr.ev.ev_free_count <= attr.ev.ev_max_count);
  CHECK(attr.ev.ev_count_align == 1);
  CHECK(attr.ev.ev_max_width == 256);
  CHECK(attr.ev.ev_fmt_mode_mask == 7);
  CHECK(attr.ev.ev_mode_mask == 7);
  CHECK(attr.cc.cc_max_profiles >= 64);
  REQUIRE(attr.cc.algorithms[0]);
  CHECK(std::string(attr.cc.algorithms[0]) == "uet-1.0-nscc");
  CHECK(attr.cc.algorithms[1] == nullptr);
  CHECK(attr.phy_port_mask == 6);
  CHECK(attr.opt_attr == 0x3F);

  int supported = -1;
  CHECK(mrc_ctl_query_device_ex(a.verbs, nullptr, &attr, &supported) == 0);
  CHECK(supported == 1);
  CHECK(mrc_ctl_query_device_ex(a.verbs, a.mrc, &attr, &supported) == 0);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_device_ex(a.verbs, b.mrc, &attr, &supported), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_device_ex(a.verbs, nullptr, &attr, nullptr), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_device(a.verbs, nullptr), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_device(nullptr, &attr), EINVAL);
  ForeignContext foreign;
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_device(&foreign.context, &attr), EOPNOTSUPP);
  attr.opt_attr = 0x55;
  CHECK(mrc_ctl_query_device_ex(&foreign.context, nullptr, &attr, &supported) == 0);
  CHECK(supported == 0);
  CHECK(attr.opt_attr == 0x55);
}

TEST_CASE_METHOD(World, "a controller needs CAP_NET_ADMIN", "[ctl]") {
  mrc_cq* events = mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, nullptr, 0);
  REQUIRE(events);
  unprivileged([&] {
    mrc_ctl_device_attr device{};
    mrc_ctl_port_attr port{};
    mrc_ctl_ev_fmt_profile_attr format{};
    mrc_ctl_ev_profile_attr ev{};
    mrc_ctl_cc_profile_attr cc{};
    mrc_ctl_ev_event event{};
    int number = 0;
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_device(a.verbs, &device), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_device_ex(a.verbs, a.mrc, &device, &number), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_port(a.mrc, 1, &port, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_modify_port(a.mrc, 1, &port, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_ev_fmt_profile(a.mrc, 1, &format, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_fmt_profile(a.mrc, 1, &format, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_ev_profile(a.mrc, 1, &ev, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_profile(a.mrc, 1, &ev, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_cc_profile(a.mrc, 1, &cc, 0), EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_modify_cc_profile(a.mrc, 1, &cc, 0), EPERM);
    FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, nullptr, 0), EPERM);
    CHECK(mrc_ctl_poll_ev_event(events, 1, &event) == -EPERM);
    FAILS_WITH_MINUS_ONE(mrc_ctl_ep_batch_send_wait(a.mrc, 0, MRC_CTL_EP_OP_EV_PROBE, nullptr, 0, 0,
                                                    nullptr, &number),
                         EPERM);
    mrc_ctl_query_version(nullptr, nullptr, nullptr, nullptr);
  });
  CHECK(mrc_destroy_cq(events) == 0);
}

TEST_CASE_METHOD(World, "ports", "[ctl]") {
  mrc_ctl_port_attr attr{};
  for (uint8_t port : {1, 2}) {
    REQUIRE(mrc_ctl_query_port(a.mrc, port, &attr, MRC_CTL_PORT_ADMIN_STATE) == 0);
    CHECK(attr.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED);
  }
  for (uint8_t port : {0, 3, 255}) {
    FAILS_WITH_MINUS_ONE(mrc_ctl_query_port(a.mrc, port, &attr, 0), EINVAL);
    FAILS_WITH_MINUS_ONE(mrc_ctl_modify_port(a.mrc, port, &attr, 0), EINVAL);
  }
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_port(a.mrc, 1, nullptr, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_port(nullptr, 1, &attr, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_port(a.mrc, 1, &attr, 2), EINVAL);
  attr.port_admin_state = static_cast<mrc_ctl_port_admin_state>(2);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_port(a.mrc, 1, &attr, MRC_CTL_PORT_ADMIN_STATE), EINVAL);
}

TEST_CASE_METHOD(World, "profile calls say what is wrong", "[ctl]") {
  mrc_ctl_ev_fmt_profile_attr format{};
  mrc_ctl_ev_profile_attr ev{};
  mrc_ctl_cc_profile_attr cc{};
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_fmt_profile(nullptr, 1, &format, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_fmt_profile(a.mrc, 1, nullptr, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_fmt_profile(a.mrc, 256, &format, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_ev_fmt_profile(a.mrc, 1, &format, 1 << 9), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_profile(a.mrc, 1, nullptr, 0), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_ev_profile(a.mrc, 1, &ev, MRC_CTL_EV_PROFILE_CUR_STATE),
                       EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_ev_profile(a.mrc, 1, &ev, MRC_CTL_EV_PROFILE_MODE), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_cc_profile(a.mrc, 64, &cc, 0), EINVAL);
  cc.algorithm = "none such";
  FAILS_WITH_MINUS_ONE(mrc_ctl_modify_cc_profile(a.mrc, 1, &cc, MRC_CTL_CC_PROFILE_ALGORITHM),
                       EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_ctl_query_cc_profile(a.mrc, 1, &cc, MRC_CTL_CC_PROFILE_CONFIG), EINVAL);
}

TEST_CASE_METHOD(World, "a profile belongs to its device", "[ctl]") {
  Profiles on_a(a);
  on_a.udp_format(9);
  on_a.explicit_profile(9, 9, {ev16(0xC001, 1), ev16(0xC002, 2)});
  mrc_ctl_ev_profile_attr attr{};
  const int mask = MRC_CTL_EV_PROFILE_CUR_STATE;
  REQUIRE(mrc_ctl_query_ev_profile(a.mrc, 9, &attr, mask) == 0);
  CHECK(attr.cur_profile_state == MRC_CTL_PROFILE_ONLINE);
  mrc_context_attr version{MRC_API_VER(1, 0, 0), 0};
  mrc_context* second = mrc_create_context(a.verbs, &version);
  REQUIRE(second);
  REQUIRE(mrc_ctl_query_ev_profile(second, 9, &attr, mask) == 0);
  CHECK(attr.cur_profile_state == MRC_CTL_PROFILE_ONLINE);
  REQUIRE(mrc_ctl_query_ev_profile(b.mrc, 9, &attr, mask) == 0);
  CHECK(attr.cur_profile_state == MRC_CTL_PROFILE_INIT);
  CHECK(mrc_destroy_context(second) == 0);
  CHECK(on_a.state_of(9, ev16(0xC001, 1)) == MRC_CTL_EV_UNKNOWN);  // no QP uses it
  FAILS_WITH_MINUS_ONE(on_a.set_state(9, ev16(0xC003, 1), MRC_CTL_EV_DENIED), ENOENT);
}

TEST_CASE_METHOD(World, "EV event CQs", "[ctl]") {
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(nullptr, 8, nullptr, nullptr, 0), EINVAL);
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 0, nullptr, nullptr, 0), EINVAL);
  FAILS_WITH_NULL(mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, nullptr, 1), EINVAL);
  mrc_cq* events = mrc_ctl_create_ev_event_cq(a.mrc, 8, nullptr, nullptr, 0);
  REQUIRE(events);
  mrc_ctl_ev_event event{};
  CHECK(mrc_ctl_poll_ev_event(events, 1, &event) == 0);
  CHECK(mrc_ctl_poll_ev_event(events, -1, &event) == -EINVAL);
  CHECK(mrc_ctl_poll_ev_event(events, 1, nullptr) == -EINVAL);
  CHECK(mrc_ctl_poll_ev_event(nullptr, 1, &event) == -EINVAL);
  CHECK(mrc_ctl_poll_ev_event(a.cq, 1, &event) == -EINVAL);
  ibv_wc wc;
  FAILS_WITH_MINUS_ONE(mrc_poll_cq(events, 1, &wc), EINVAL);
  CHECK(mrc_req_notify_cq(events, 0) == 0);  // without a channel there is nobody to tell
  mrc_ack_cq_events(events, 1);              // nothing to acknowledge, and nothing to crash on
  mrc_qp_init_attr init{};
  init.send_cq = events;
  init.recv_cq = a.cq;
  init.pd = a.pd;
  FAILS_WITH_NULL(mrc_create_qp(a.mrc, &init), EINVAL);
  FAILS_WITH_MINUS_ONE(mrc_destroy_context(a.mrc), EBUSY);
  CHECK(mrc_destroy_cq(events) == 0);
}
