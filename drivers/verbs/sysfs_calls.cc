// The C library's calls that take a path, and those that read, in front of the real ones: what is
// about our devices in sysfs goes where sysfs_paths.h and sysfs_text.h say, all else on as it is.
//
// Each is defined under a name of its own, since the headers may declare the real name as another
// symbol, as one that does not throw, or in line. Their versions are those of x86-64, where an
// argument that open() was not given costs nothing to read.
#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cstdio>
#include <string_view>

#include "interpose.h"
#include "sysfs_paths.h"
#include "sysfs_text.h"

using namespace softmrc::interposer;

namespace {

// Nothing in sysfs below a device can be written to.
bool refuse_writing(const Place& place, bool writing) {
  if (!place.ours() || !writing) return false;
  errno = EACCES;
  return true;
}

template <typename Real>
int open_place(const Place& place, int flags, const Real& real) {
  const bool writing = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  if (refuse_writing(place, writing)) return -1;
  if (place.ours() && (flags & (O_DIRECTORY | O_PATH)) == 0) {
    if (const int text = open_sysfs_text(place.below_tree(), flags); text >= 0) return text;
  }
  return real(place.path());
}

template <typename Real>
FILE* open_stream(const Place& place, std::string_view mode, const Real& real) {
  const auto has = [mode](const char* letters) {
    return mode.find_first_of(letters) != std::string_view::npos;
  };
  if (refuse_writing(place, has("wa+"))) return nullptr;
  if (place.ours()) {
    const int text = open_sysfs_text(place.below_tree(), has("e") ? O_CLOEXEC : 0);
    if (text >= 0) return fdopen(text, "r");
  }
  return real(place.path());
}

// What open() is given behind its flags, if they say so. O_TMPFILE contains O_DIRECTORY.
mode_t given(int flags, mode_t mode) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0;
}

}  // namespace

// `next` is the function of that name and version behind us. It is looked up when this library is
// loaded, since a program may call first from a signal handler, or earlier, if a constructor of
// another library calls before.
#define SOFTMRC_PATH_CALL(version, result, symbol, parameters, ...)                        \
  static const Next<result parameters>& next_##symbol() {                                  \
    static const Next<result parameters> next(#symbol, version);                           \
    return next;                                                                           \
  }                                                                                        \
  [[maybe_unused]] static const Next<result parameters>& ready_##symbol = next_##symbol(); \
  SOFTMRC_INTERPOSED result interposed_##symbol parameters __asm__(#symbol);               \
  result interposed_##symbol parameters {                                                  \
    const auto& next = next_##symbol();                                                    \
    return __VA_ARGS__;                                                                    \
  }

#define SOFTMRC_OPEN(symbol)                                                                \
  SOFTMRC_PATH_CALL("GLIBC_2.2.5", int, symbol, (const char* path, int flags, mode_t mode), \
                    open_place(Place(path), flags, [&](const char* to) {                    \
                      return next(to, flags, given(flags, mode));                           \
                    }))
#define SOFTMRC_OPENAT(symbol)                                                          \
  SOFTMRC_PATH_CALL(                                                                    \
      "GLIBC_2.4", int, symbol, (int folder, const char* path, int flags, mode_t mode), \
      open_place(Place(folder, path), flags,                                            \
                 [&](const char* to) { return next(folder, to, flags, given(flags, mode)); }))
#define SOFTMRC_OPEN_2(symbol)                                 \
  SOFTMRC_PATH_CALL(                                           \
      "GLIBC_2.7", int, symbol, (const char* path, int flags), \
      open_place(Place(path), flags, [&](const char* to) { return next(to, flags); }))
#define SOFTMRC_OPENAT_2(symbol)                                                         \
  SOFTMRC_PATH_CALL("GLIBC_2.7", int, symbol, (int folder, const char* path, int flags), \
                    open_place(Place(folder, path), flags,                               \
                               [&](const char* to) { return next(folder, to, flags); }))
#define SOFTMRC_FOPEN(symbol)                                             \
  SOFTMRC_PATH_CALL(                                                      \
      "GLIBC_2.2.5", FILE*, symbol, (const char* path, const char* mode), \
      open_stream(Place(path), mode, [&](const char* to) { return next(to, mode); }))

SOFTMRC_OPEN(open)
SOFTMRC_OPEN(open64)
SOFTMRC_OPENAT(openat)
SOFTMRC_OPENAT(openat64)
SOFTMRC_OPEN_2(__open_2)
SOFTMRC_OPEN_2(__open64_2)
SOFTMRC_OPENAT_2(__openat_2)
SOFTMRC_OPENAT_2(__openat64_2)
SOFTMRC_FOPEN(fopen)
SOFTMRC_FOPEN(fopen64)

// perftest keeps its counters' files open.
SOFTMRC_PATH_CALL("GLIBC_2.2.5", ssize_t, read, (int file, void* to, size_t size),
                  (refresh_sysfs_text(file), next(file, to, size)))
SOFTMRC_PATH_CALL("GLIBC_2.4", ssize_t, __read_chk, (int file, void* to, size_t size, size_t room),
                  (refresh_sysfs_text(file), next(file, to, size, room)))
#define SOFTMRC_PREAD(symbol)                                        \
  SOFTMRC_PATH_CALL("GLIBC_2.2.5", ssize_t, symbol,                  \
                    (int file, void* to, size_t size, off_t offset), \
                    (refresh_sysfs_text(file, offset), next(file, to, size, offset)))
#define SOFTMRC_PREAD_CHK(symbol)                                                 \
  SOFTMRC_PATH_CALL("GLIBC_2.4", ssize_t, symbol,                                 \
                    (int file, void* to, size_t size, off_t offset, size_t room), \
                    (refresh_sysfs_text(file, offset), next(file, to, size, offset, room)))

SOFTMRC_PREAD(pread)
SOFTMRC_PREAD(pread64)
SOFTMRC_PREAD_CHK(__pread_chk)
SOFTMRC_PREAD_CHK(__pread64_chk)

// From here on, calls that only get another path. What they fill in is theirs to know.
#define SOFTMRC_OPENDIR(symbol) \
  SOFTMRC_PATH_CALL("GLIBC_2.2.5", DIR*, symbol, (const char* path), next(Place(path).path()))
#define SOFTMRC_SCANDIR(symbol)                                                  \
  SOFTMRC_PATH_CALL("GLIBC_2.2.5", int, symbol,                                  \
                    (const char* path, void* list, void* filter, void* compare), \
                    next(Place(path).path(), list, filter, compare))
#define SOFTMRC_SCANDIRAT(symbol)                                                            \
  SOFTMRC_PATH_CALL("GLIBC_2.15", int, symbol,                                               \
                    (int folder, const char* path, void* list, void* filter, void* compare), \
                    next(folder, Place(path).path(), list, filter, compare))
#define SOFTMRC_STAT(symbol)                                                     \
  SOFTMRC_PATH_CALL("GLIBC_2.33", int, symbol, (const char* path, void* status), \
                    next(Place(path).path(), status))
#define SOFTMRC_FSTATAT(symbol)                                              \
  SOFTMRC_PATH_CALL("GLIBC_2.33", int, symbol,                               \
                    (int folder, const char* path, void* status, int flags), \
                    next(folder, Place(path).path(), status, flags))
// As programs call them that were built before version 2.33.
#define SOFTMRC_XSTAT(symbol)                                                                  \
  SOFTMRC_PATH_CALL("GLIBC_2.2.5", int, symbol, (int version, const char* path, void* status), \
                    next(version, Place(path).path(), status))
#define SOFTMRC_FXSTATAT(symbol)                                                          \
  SOFTMRC_PATH_CALL("GLIBC_2.4", int, symbol,                                             \
                    (int version, int folder, const char* path, void* status, int flags), \
                    next(version, folder, Place(path).path(), status, flags))
#define SOFTMRC_ACCESS(version, symbol)                                   \
  SOFTMRC_PATH_CALL(version, int, symbol, (const char* path, int rights), \
                    next(Place(path).path(), rights))

// ls asks for them, and complains if there is no such file.
#define SOFTMRC_GETXATTR(symbol)                                                    \
  SOFTMRC_PATH_CALL("GLIBC_2.3", ssize_t, symbol,                                   \
                    (const char* path, const char* name, void* value, size_t size), \
                    next(Place(path).path(), name, value, size))
#define SOFTMRC_LISTXATTR(symbol)                                                              \
  SOFTMRC_PATH_CALL("GLIBC_2.3", ssize_t, symbol, (const char* path, char* list, size_t size), \
                    next(Place(path).path(), list, size))

SOFTMRC_OPENDIR(opendir)
SOFTMRC_SCANDIR(scandir)
SOFTMRC_SCANDIR(scandir64)
SOFTMRC_SCANDIRAT(scandirat)
SOFTMRC_SCANDIRAT(scandirat64)
SOFTMRC_STAT(stat)
SOFTMRC_STAT(stat64)
SOFTMRC_STAT(lstat)
SOFTMRC_STAT(lstat64)
SOFTMRC_FSTATAT(fstatat)
SOFTMRC_FSTATAT(fstatat64)
SOFTMRC_XSTAT(__xstat)
SOFTMRC_XSTAT(__xstat64)
SOFTMRC_XSTAT(__lxstat)
SOFTMRC_XSTAT(__lxstat64)
SOFTMRC_FXSTATAT(__fxstatat)
SOFTMRC_FXSTATAT(__fxstatat64)
SOFTMRC_PATH_CALL("GLIBC_2.28", int, statx,
                  (int folder, const char* path, int flags, unsigned mask, void* status),
                  next(folder, Place(path).path(), flags, mask, status))
SOFTMRC_GETXATTR(getxattr)
SOFTMRC_GETXATTR(lgetxattr)
SOFTMRC_LISTXATTR(listxattr)
SOFTMRC_LISTXATTR(llistxattr)
SOFTMRC_ACCESS("GLIBC_2.2.5", access)
SOFTMRC_ACCESS("GLIBC_2.2.5", euidaccess)
SOFTMRC_ACCESS("GLIBC_2.4", eaccess)
SOFTMRC_PATH_CALL("GLIBC_2.4", int, faccessat,
                  (int folder, const char* path, int rights, int flags),
                  next(folder, Place(path).path(), rights, flags))
SOFTMRC_PATH_CALL("GLIBC_2.2.5", int, chdir, (const char* path), next(Place(path).path()))
SOFTMRC_PATH_CALL("GLIBC_2.2.5", ssize_t, readlink, (const char* path, char* to, size_t size),
                  next(Place(path).path(), to, size))
SOFTMRC_PATH_CALL("GLIBC_2.4", ssize_t, readlinkat,
                  (int folder, const char* path, char* to, size_t size),
                  next(folder, Place(path).path(), to, size))
SOFTMRC_PATH_CALL("GLIBC_2.4", ssize_t, __readlink_chk,
                  (const char* path, char* to, size_t size, size_t room),
                  next(Place(path).path(), to, size, room))
SOFTMRC_PATH_CALL("GLIBC_2.5", ssize_t, __readlinkat_chk,
                  (int folder, const char* path, char* to, size_t size, size_t room),
                  next(folder, Place(path).path(), to, size, room))
SOFTMRC_PATH_CALL("GLIBC_2.3", char*, realpath, (const char* path, char* to),
                  next(Place(path).path(), to))
SOFTMRC_PATH_CALL("GLIBC_2.4", char*, __realpath_chk, (const char* path, char* to, size_t room),
                  next(Place(path).path(), to, room))
SOFTMRC_PATH_CALL("GLIBC_2.2.5", char*, canonicalize_file_name, (const char* path),
                  next(Place(path).path()))
