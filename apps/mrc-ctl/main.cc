// mrc-ctl: a controller for people and scripts. It opens a device by its node file, without ports,
// and speaks to it through the control interface (mrc_ctl.h) like any other controller.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/address.h"
#include "config/node_config.h"
#include "mrc-ctl/profiles.h"
#include "mrc-ctl/show.h"
#include "mrc-ctl/text.h"
#include "verbs/device.h"

namespace softmrc::ctl {
namespace {

volatile std::sig_atomic_t interrupted = 0;

class Device {
 public:
  explicit Device(const std::string& file) {
    verbs::DeviceEntry* entry = verbs::add_device(config::load_node(file));
    if (!entry) throw CtlError(file + ": a device of this name is configured already");
    verbs_ = verbs::open_context(entry, {.pcap_file = {}, .seed = 0, .ports = false});
    if (!verbs_) throw CtlError(file + ": the device cannot be opened");
    mrc_context_attr attr{MRC_API_CURRENT_VERSION, 0};
    context_ = mrc_create_context(verbs_, &attr);
    if (!context_) throw CtlError(file + ": " + std::strerror(errno));
  }
  ~Device() {
    if (context_) mrc_destroy_context(context_);
    if (verbs_) verbs::close_context(verbs_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ibv_context* verbs() const { return verbs_; }
  mrc_context* context() const { return context_; }
  ibv_gid gid() const {
    ibv_gid gid{};
    must(verbs::query_gid(verbs_, 1, 0, &gid), "GID 0");
    return gid;
  }

 private:
  ibv_context* verbs_ = nullptr;
  mrc_context* context_ = nullptr;
};

mrc_ctl_ev_fmt_mode format_of(mrc_context* context, uint64_t profile) {
  EvProfile known;
  std::vector<PlaceState> places;
  Format format;
  mrc_ctl_profile_state state;
  if (read_ev_profile(context, profile, known, places, state))
    read_format(context, known.format, format, state);
  return format.mode;
}

void set_states(mrc_context* context, uint64_t profile, const std::vector<std::string>& evs,
                mrc_ctl_ev_state state) {
  for (const std::string& text : evs) {
    mrc_ctl_ev_op_entry entry{parse_ev(text), {}, state, MRC_CTL_EV_OP_F_ALL_COPIES};
    mrc_ctl_ev_profile_attr attr{};
    attr.ev_op = {MRC_CTL_EV_OP_MODIFY_EV_STATE, &entry, 1};
    must(mrc_ctl_modify_ev_profile(context, profile, &attr, MRC_CTL_EV_PROFILE_EV_OP),
         "EV profile " + std::to_string(profile) + ", " + text);
    std::printf("%s: %s\n", text.c_str(), name(state));
  }
}

struct ProbeOptions {
  std::string peer;
  std::vector<std::string> evs;
  mrc_ctl_ev_fmt_mode mode = MRC_CTL_EV_FMT_MODE_SRV6;
  uint32_t timeout_ms = 100;
  uint8_t dscp = 4;
};

// One line per EV. False: some have not answered.
bool probe(const Device& device, const ProbeOptions& options) {
  const auto peer = parse_ip(options.peer);
  if (!peer) throw CtlError(options.peer + " is no IP address");
  std::vector<mrc_ctl_ep_req> requests;
  for (const std::string& ev : options.evs) {
    mrc_ctl_ep_req request{};
    request.req_id = static_cast<uint16_t>(requests.size());
    request.sgid = device.gid();
    std::memcpy(request.dgid.raw, peer->bytes.data(), sizeof request.dgid.raw);
    request.ev_fmt_mode = options.mode;
    request.req_ev = parse_ev(ev);
    requests.push_back(request);
  }
  std::vector<mrc_ctl_ep_rsp> answers(requests.size());
  int count = 0;
  const int result = mrc_ctl_ep_batch_send_wait(
      device.context(), options.dscp, MRC_CTL_EP_OP_EV_PROBE, requests.data(),
      static_cast<int>(requests.size()), options.timeout_ms * 1'000'000, answers.data(), &count);
  if (result != 0 && errno == ENODEV) throw CtlError("no process has the device's ports open");
  if (result != 0 && errno != ETIMEDOUT) must(result, "probe");
  std::vector<const mrc_ctl_ep_rsp*> by_request(requests.size());
  for (int i = 0; i < count; ++i)
    by_request[answers[static_cast<size_t>(i)].req_id] = &answers[static_cast<size_t>(i)];
  for (size_t i = 0; i < requests.size(); ++i) {
    if (by_request[i])
      std::printf("%s: %.1f us, answered on port %u\n", options.evs[i].c_str(),
                  by_request[i]->rtt / 1e3, by_request[i]->port);
    else
      std::printf("%s: no answer\n", options.evs[i].c_str());
  }
  return result == 0;
}

void events(const Device& device, bool follow) {
  constexpr int kEntries = 4096, kBatch = 64;
  constexpr useconds_t kPause = 20'000, kWhile = 1'000'000;
  mrc_cq* cq = mrc_ctl_create_ev_event_cq(device.context(), kEntries, nullptr, nullptr, 0);
  if (!cq) must(-1, "EV events");
  mrc_ctl_ev_event list[kBatch];
  for (useconds_t waited = 0; !interrupted && (follow || waited < kWhile); waited += kPause) {
    const int count = mrc_ctl_poll_ev_event(cq, kBatch, list);
    for (int i = 0; i < count; ++i) {
      if (list[i].drop_count > 0) std::printf("%u events lost\n", list[i].drop_count);
      std::printf("profile %llu  %s  %s\n", static_cast<unsigned long long>(list[i].profile_id),
                  ev_text(list[i].ev, format_of(device.context(), list[i].profile_id)).c_str(),
                  name(list[i].state));
    }
    std::fflush(stdout);
    usleep(kPause);
  }
  mrc_destroy_cq(cq);
}

void set_ports(const Device& device, const std::vector<unsigned>& ports, bool up) {
  for (const unsigned port : ports) {
    mrc_ctl_port_attr attr{up ? MRC_CTL_PORT_ADMIN_ENABLED : MRC_CTL_PORT_ADMIN_DISABLED};
    must(mrc_ctl_modify_port(device.context(), static_cast<uint8_t>(port), &attr,
                             MRC_CTL_PORT_ADMIN_STATE),
         "port " + std::to_string(port));
    std::printf("port %u: %s\n", port, up ? "up" : "down");
  }
}

int run(int argc, char** argv) {
  CLI::App app("Sets up and watches an MRC device: EV and CC profiles, ports, EV events, probes");
  app.require_subcommand(1);
  std::string config;
  app.add_option("-c,--config", config, "Node file of the device")->required();
  bool failed = false;
  const auto on = [&](CLI::App* command, auto action) {
    command->callback([&, action] { action(Device(config)); });
  };

  std::string file;
  auto* apply_command = app.add_subcommand("apply", "Bring the profiles of a file into effect");
  apply_command->add_option("FILE", file)->required();
  on(apply_command, [&](const Device& device) { apply(device.context(), load_profiles(file)); });

  bool json = false;
  auto* show_command = app.add_subcommand("show", "Ports and profiles as they are");
  show_command->add_flag("--json", json);
  on(show_command, [&](const Device& device) { show(device.verbs(), device.context(), json); });

  uint64_t profile = 0;
  std::vector<std::string> evs;
  for (const auto& [word, state, help] :
       {std::tuple{"deny", MRC_CTL_EV_DENIED, "Take EVs out of use"},
        std::tuple{"allow", MRC_CTL_EV_GOOD, "Bring EVs back"}}) {
    auto* command = app.add_subcommand(word, help);
    command->add_option("PROFILE", profile)->required();
    command->add_option("EV", evs, "PORT/DIGITS or PORT/ADDRESS[+ADDRESS]")->required();
    on(command, [&, state = state](const Device& device) {
      set_states(device.context(), profile, evs, state);
    });
  }

  ProbeOptions probe_options;
  const std::map<std::string, mrc_ctl_ev_fmt_mode> modes{{"udp", MRC_CTL_EV_FMT_MODE_UDP},
                                                         {"stev", MRC_CTL_EV_FMT_MODE_STEV},
                                                         {"srv6", MRC_CTL_EV_FMT_MODE_SRV6}};
  auto* probe_command = app.add_subcommand("probe", "Send an EV probe over each EV");
  probe_command->add_option("PEER", probe_options.peer, "GID of the peer")->required();
  probe_command->add_option("EV", probe_options.evs)->required();
  probe_command->add_option("--mode", probe_options.mode, "How the EVs are to be read")
      ->transform(CLI::CheckedTransformer(modes));
  probe_command->add_option("--timeout-ms", probe_options.timeout_ms)->check(CLI::Range(1, 4000));
  probe_command->add_option("--dscp", probe_options.dscp)->check(CLI::Range(0, 63));
  on(probe_command, [&](const Device& device) { failed = !probe(device, probe_options); });

  bool follow = false;
  auto* events_command = app.add_subcommand("events", "EV events of the next second");
  events_command->add_flag("--follow", follow, "Go on until interrupted");
  on(events_command, [&](const Device& device) { events(device, follow); });

  std::vector<unsigned> ports;
  auto* ports_command = app.add_subcommand("ports", "Administrative state of ports");
  ports_command->require_subcommand(1);
  for (const bool up : {true, false}) {
    auto* command = ports_command->add_subcommand(up ? "up" : "down");
    command->add_option("PORT", ports)->required()->check(CLI::Range(1, 16));
    on(command, [&, up](const Device& device) { set_ports(device, ports, up); });
  }

  CLI11_PARSE(app, argc, argv);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace
}  // namespace softmrc::ctl

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { softmrc::ctl::interrupted = 1; });
  std::signal(SIGTERM, [](int) { softmrc::ctl::interrupted = 1; });
  try {
    return softmrc::ctl::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mrc-ctl: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
