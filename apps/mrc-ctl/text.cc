#include "mrc-ctl/text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/address.h"
#include "control/hex.h"

namespace softmrc::ctl {
namespace {

constexpr size_t kAddressSize = 16;

[[noreturn]] void bad_ev(const std::string& text) {
  throw CtlError("\"" + text + "\" is no EV: PORT/DIGITS or PORT/ADDRESS[+ADDRESS] is expected");
}

void put_address(const std::string& text, const std::string& all, std::span<uint8_t> to) {
  const auto address = parse_ip(text);
  if (!address || address->is_v4()) bad_ev(all);
  std::ranges::copy(address->bytes, to.begin());
}

}  // namespace

mrc_ctl_ev parse_ev(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string port = text.substr(0, slash);
  const bool number = !port.empty() && port.size() <= 2 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (slash == std::string::npos || !number) bad_ev(text);
  mrc_ctl_ev ev{};
  ev.port = static_cast<uint8_t>(std::stoi(port));
  std::string value = text.substr(slash + 1);
  if (value.find(':') != std::string::npos) {
    const size_t plus = value.find('+');
    put_address(value.substr(0, plus), text, std::span(ev.val).first(kAddressSize));
    if (plus != std::string::npos)
      put_address(value.substr(plus + 1), text, std::span(ev.val).subspan(kAddressSize));
    return ev;
  }
  if (value.empty()) bad_ev(text);
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  try {
    control::from_hex(value, ev.val);
  } catch (const std::invalid_argument&) {
    bad_ev(text);
  }
  return ev;
}

std::string ev_text(const mrc_ctl_ev& ev, mrc_ctl_ev_fmt_mode mode) {
  std::string text = std::to_string(ev.port);
  text += '/';
  if (mode != MRC_CTL_EV_FMT_MODE_SRV6) {
    const std::string digits = control::to_hex(ev.val);
    return text += digits.empty() ? "00" : digits;
  }
  text += to_string(IpAddress::at(ev.val));
  const IpAddress segment = IpAddress::at(ev.val + kAddressSize);
  if (!segment.is_zero()) text += '+' + to_string(segment);
  return text;
}

const char* name(mrc_ctl_profile_state state) {
  switch (state) {
    case MRC_CTL_PROFILE_INIT:
      return "INIT";
    case MRC_CTL_PROFILE_OFFLINE:
      return "OFFLINE";
    case MRC_CTL_PROFILE_ONLINE:
      return "ONLINE";
  }
  return "?";
}

const char* name(mrc_ctl_ev_fmt_mode mode) {
  switch (mode) {
    case MRC_CTL_EV_FMT_MODE_STEV:
      return "stev";
    case MRC_CTL_EV_FMT_MODE_SRV6:
      return "srv6";
    case MRC_CTL_EV_FMT_MODE_UDP:
      return "udp";
  }
  return "?";
}

const char* name(mrc_ctl_ev_mode mode) {
  switch (mode) {
    case MRC_CTL_EV_MODE_AUTO:
      return "auto";
    case MRC_CTL_EV_MODE_EXP:
      return "explicit";
    case MRC_CTL_EV_MODE_GEN:
      return "generated";
  }
  return "?";
}

const char* name(mrc_ctl_ev_state state) {
  switch (state) {
    case MRC_CTL_EV_GOOD:
      return "GOOD";
    case MRC_CTL_EV_ASSUMED_BAD:
      return "ASSUMED_BAD";
    case MRC_CTL_EV_DENIED:
      return "DENIED";
    case MRC_CTL_EV_UNKNOWN:
      return "UNKNOWN";
  }
  return "?";
}

void must(int result, const std::string& what) {
  if (result == 0) return;
  const int error = errno;
  std::string reason = std::strerror(error);
  if (error == EPERM) reason = "CAP_NET_ADMIN is needed";
  if (error == ENOENT) reason = "the profile has no such EV";
  if (error == EBUSY) reason = "a QP or an ONLINE profile uses it";
  throw CtlError(what + ": " + reason);
}

}  // namespace softmrc::ctl
