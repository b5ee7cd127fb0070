// How calls end. mrc.h has three conventions: -1 with errno, an errno value with errno set too, and
// NULL with errno. No exception leaves the library.
#pragma once

#include <cerrno>
#include <cstddef>
#include <exception>
#include <new>

namespace softmrc::libmrc {

// 0, or -1 with errno.
inline int minus_one(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// 0, or the errno value, errno set.
inline int errno_value(int error) {
  if (error != 0) errno = error;
  return error;
}

// NULL with errno.
inline std::nullptr_t null(int error) {
  errno = error;
  return nullptr;
}

// Logs it; EIO.
int unexpected(const char* function, const char* what) noexcept;

// Runs what may throw; an errno value.
template <typename Action>
int guarded(const char* function, Action&& action) noexcept {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& error) {
    return unexpected(function, error.what());
  } catch (...) {
    return unexpected(function, "unknown exception");
  }
}

}  // namespace softmrc::libmrc
