// The control interface asks for CAP_NET_ADMIN, which whoever runs the tests may not have. In a
// user namespace of its own a process has it; entering one needs a single thread, so this happens
// before main().
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

bool has_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capget, &header, data) == 0 &&
         (data[0].effective & CAP_TO_MASK(CAP_NET_ADMIN)) != 0;
}

bool enter_namespace() {
  if (has_net_admin()) return true;
  const std::string map = "0 " + std::to_string(geteuid()) + " 1";
  if (unshare(CLONE_NEWUSER) != 0) return false;
  const int file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
  const bool mapped =
      file >= 0 && write(file, map.data(), map.size()) == static_cast<ssize_t>(map.size());
  if (file >= 0) close(file);
  return mapped;
}

[[maybe_unused]] const bool entered = [] {
  const bool done = enter_namespace();
  if (!done) std::perror("no user namespace: tests that need CAP_NET_ADMIN will fail");
  return done;
}();

}  // namespace
