/*
 * Every call of the C library that takes a path and is interposed, on files of our device in sysfs
 * and on others, which it must leave alone. Calls are looked up by name, since headers turn some
 * into others. Usage: sysfs_calls DEVICE, under mrc-run.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* Calls fn, of a type, which is each of the names in turn. */
#define FOR_EACH(type, ...)                                                                  \
  for (const char *const names[] = {__VA_ARGS__, NULL}, *const *name = names; *name != NULL; \
       ++name)                                                                               \
    for (type* fn = __extension__(type*) dlsym(RTLD_DEFAULT, *name); fn != NULL; fn = NULL)

static char device[PATH_MAX];    /* a folder */
static char attribute[PATH_MAX]; /* a file */
static char absent[PATH_MAX];
static char odd[PATH_MAX]; /* the file, written another way */
static const char kStatus[] = "/proc/self/status";

static void check_text(int fd, const char* name, const char* expected) {
  char text[64] = "";
  const ssize_t size = read(fd, text, sizeof text - 1);
  if (size < 0 || strncmp(text, expected, strlen(expected)) != 0) {
    printf("%s: \"%s\" is not \"%s\"\n", name, text, expected);
    ++failures;
  }
  CHECK(fd >= 0 && close(fd) == 0);
}

/* `call` opens `path`. */
#define CHECK_OPEN(call, path_expression)   \
  do {                                      \
    const char* path = attribute;           \
    check_text((call), *name, "1: CA\n");   \
    path = odd;                             \
    check_text((call), *name, "1: CA\n");   \
    path = kStatus;                         \
    check_text((call), *name, "Name:\t");   \
    path = absent;                          \
    errno = 0;                              \
    CHECK((call) == -1 && errno == ENOENT); \
  } while (0)

typedef int open_fn(const char*, int, ...);
typedef int openat_fn(int, const char*, int, ...);
typedef FILE* fopen_fn(const char*, const char*);

static int descriptor_of(FILE* stream) {
  const int fd = stream != NULL ? dup(fileno(stream)) : -1;
  if (stream != NULL) fclose(stream);
  return fd;
}

static void check_opening(void) {
  int calls = 0;
  FOR_EACH(open_fn, "open", "open64", "__open_2", "__open64_2") {
    CHECK_OPEN(fn(path, O_RDONLY), path);
    errno = 0;
    CHECK(fn(attribute, O_WRONLY) == -1 && errno == EACCES);
    ++calls;
  }
  FOR_EACH(openat_fn, "openat", "openat64", "__openat_2", "__openat64_2") {
    CHECK_OPEN(fn(AT_FDCWD, path, O_RDONLY), path);
    const int folder = fn(AT_FDCWD, device, O_RDONLY | O_DIRECTORY);
    CHECK(folder >= 0);
    check_text(fn(folder, "node_type", O_RDONLY), *name, "1: CA\n");
    check_text(fn(folder, "ports/1/gid_attrs/types/0", O_RDONLY), *name, "RoCE v2\n");
    close(folder);
    ++calls;
  }
  FOR_EACH(fopen_fn, "fopen", "fopen64") {
    CHECK_OPEN(descriptor_of(fn(path, "re")), path);
    errno = 0;
    CHECK(fn(attribute, "r+") == NULL && errno == EACCES);
    ++calls;
  }
  CHECK(calls == 10);

  /* A mode is still passed on. */
  char made[] = "/tmp/sysfs_calls.XXXXXX";
  close(mkstemp(made));
  unlink(made);
  struct stat status;
  const int fd = open(made, O_CREAT | O_EXCL | O_WRONLY, 0640);
  CHECK(fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0640);
  close(fd);
  unlink(made);
}

typedef int stat_fn(const char*, struct stat*);
typedef int fstatat_fn(int, const char*, struct stat*, int);
typedef int xstat_fn(int, const char*, struct stat*);
typedef int fxstatat_fn(int, int, const char*, struct stat*, int);
typedef int access_fn(const char*, int);
typedef int faccessat_fn(int, const char*, int, int);

/* `call` looks at `path`, 0 if it is there. */
#define CHECK_THERE(call)                   \
  do {                                      \
    const char* path = attribute;           \
    CHECK((call) == 0);                     \
    path = device;                          \
    CHECK((call) == 0);                     \
    path = "/sys/class/infiniband/";        \
    CHECK((call) == 0);                     \
    path = kStatus;                         \
    CHECK((call) == 0);                     \
    path = absent;                          \
    errno = 0;                              \
    CHECK((call) == -1 && errno == ENOENT); \
    ++calls;                                \
  } while (0)

static void check_looking(void) {
  int calls = 0;
  struct stat status;
  FOR_EACH(stat_fn, "stat", "stat64", "lstat", "lstat64") CHECK_THERE(fn(path, &status));
  FOR_EACH(fstatat_fn, "fstatat", "fstatat64") CHECK_THERE(fn(AT_FDCWD, path, &status, 0));
  FOR_EACH(xstat_fn, "__xstat", "__xstat64", "__lxstat", "__lxstat64") {
    CHECK_THERE(fn(1, path, &status));
  }
  FOR_EACH(fxstatat_fn, "__fxstatat", "__fxstatat64") {
    CHECK_THERE(fn(1, AT_FDCWD, path, &status, 0));
  }
  FOR_EACH(access_fn, "access", "euidaccess", "eaccess") CHECK_THERE(fn(path, R_OK));
  FOR_EACH(faccessat_fn, "faccessat") CHECK_THERE(fn(AT_FDCWD, path, R_OK, 0));
  struct statx extended;
  FOR_EACH(__typeof__(statx), "statx") {
    CHECK_THERE(fn(AT_FDCWD, path, 0, STATX_BASIC_STATS, &extended));
  }
  CHECK(calls == 17);

  CHECK(stat(attribute, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0222) == 0);
  CHECK(stat(device, &status) == 0 && S_ISDIR(status.st_mode));
}

typedef ssize_t getxattr_fn(const char*, const char*, void*, size_t);
typedef ssize_t listxattr_fn(const char*, char*, size_t);

static void check_attributes(void) {
  int calls = 0;
  char value[256];
  FOR_EACH(getxattr_fn, "getxattr", "lgetxattr") {
    CHECK(fn(attribute, "user.none", value, sizeof value) == -1 && errno != ENOENT);
    CHECK(fn(absent, "user.none", value, sizeof value) == -1 && errno == ENOENT);
    ++calls;
  }
  FOR_EACH(listxattr_fn, "listxattr", "llistxattr") {
    CHECK(fn(attribute, value, sizeof value) >= 0 || errno != ENOENT);
    CHECK(fn(absent, value, sizeof value) == -1 && errno == ENOENT);
    ++calls;
  }
  CHECK(calls == 4);
}

typedef ssize_t readlink_fn(const char*, char*, size_t);
typedef ssize_t readlinkat_fn(int, const char*, char*, size_t);
typedef ssize_t readlink_chk_fn(const char*, char*, size_t, size_t);
typedef ssize_t readlinkat_chk_fn(int, const char*, char*, size_t, size_t);

/* `call` reads where `path` leads into `to`. */
#define CHECK_LINK(call)                                                   \
  do {                                                                     \
    char to[PATH_MAX];                                                     \
    const char* path = link;                                               \
    const ssize_t size = (call);                                           \
    CHECK(size > 0);                                                       \
    to[size > 0 ? size : 0] = '\0';                                        \
    CHECK(access(to, R_OK) == 0);                                          \
    path = "/proc/self/exe";                                               \
    CHECK((call) > 0 && strncmp(to, executable, strlen(executable)) == 0); \
    path = absent;                                                         \
    CHECK((call) == -1 && errno == ENOENT);                                \
    ++calls;                                                               \
  } while (0)

/* `call` gives the path behind `path`. */
#define CHECK_PATH(call)                                  \
  do {                                                    \
    char to[PATH_MAX];                                    \
    const char* path = link;                              \
    const char* real = (call);                            \
    CHECK(real != NULL && access(real, R_OK) == 0);       \
    if (real != NULL && real != to) free((void*)real);    \
    path = "/proc/self/exe";                              \
    real = (call);                                        \
    CHECK(real != NULL && strcmp(real, executable) == 0); \
    if (real != NULL && real != to) free((void*)real);    \
    path = absent;                                        \
    CHECK((call) == NULL && errno == ENOENT);             \
    ++calls;                                              \
  } while (0)

typedef char* realpath_fn(const char*, char*);
typedef char* realpath_chk_fn(const char*, char*, size_t);
typedef char* canonicalize_fn(const char*);

static void check_links(void) {
  int calls = 0;
  char link[PATH_MAX];
  char executable[PATH_MAX] = "";
  snprintf(link, sizeof link, "/sys/class/infiniband/%s/device", strrchr(device, '/') + 1);
  CHECK(readlink("/proc/self/exe", executable, sizeof executable - 1) > 0);
  FOR_EACH(readlink_fn, "readlink") CHECK_LINK(fn(path, to, sizeof to - 1));
  FOR_EACH(readlinkat_fn, "readlinkat") CHECK_LINK(fn(AT_FDCWD, path, to, sizeof to - 1));
  FOR_EACH(readlink_chk_fn, "__readlink_chk") CHECK_LINK(fn(path, to, sizeof to - 1, sizeof to));
  FOR_EACH(readlinkat_chk_fn, "__readlinkat_chk") {
    CHECK_LINK(fn(AT_FDCWD, path, to, sizeof to - 1, sizeof to));
  }
  FOR_EACH(realpath_fn, "realpath") {
    CHECK_PATH(fn(path, to));
    CHECK_PATH(fn(path, NULL));
  }
  FOR_EACH(realpath_chk_fn, "__realpath_chk") CHECK_PATH(fn(path, to, sizeof to));
  FOR_EACH(canonicalize_fn, "canonicalize_file_name") CHECK_PATH(fn(path));
  CHECK(calls == 8);
}

typedef int scandir_fn(const char*, struct dirent***, void*, void*);
typedef int scandirat_fn(int, const char*, struct dirent***, void*, void*);

/* How many entries of `path` are called `wanted`; -1: it cannot be listed. */
static int named_by_opendir(const char* path, const char* wanted) {
  DIR* const folder = opendir(path);
  if (folder == NULL) return -1;
  int found = 0;
  const struct dirent* entry;
  while ((entry = readdir(folder)) != NULL) found += strcmp(entry->d_name, wanted) == 0;
  closedir(folder);
  return found;
}

static int named_in(struct dirent** list, int count, const char* wanted) {
  if (count < 0) return -1;
  int found = 0;
  for (int i = 0; i < count; ++i) {
    found += strcmp(list[i]->d_name, wanted) == 0;
    free(list[i]);
  }
  free(list);
  return found;
}

static int named_by_scandir(scandir_fn* fn, const char* path, const char* wanted) {
  struct dirent** list = NULL;
  const int count = fn(path, &list, NULL, NULL);
  return named_in(list, count, wanted);
}

static int named_by_scandirat(scandirat_fn* fn, const char* path, const char* wanted) {
  struct dirent** list = NULL;
  const int count = fn(AT_FDCWD, path, &list, NULL, NULL);
  return named_in(list, count, wanted);
}

/* `call` is how many entries of `path` are called `wanted`. */
#define CHECK_LIST(call)                           \
  do {                                             \
    const char* path = "/sys/class/infiniband";    \
    const char* wanted = strrchr(device, '/') + 1; \
    CHECK((call) == 1);                            \
    path = device;                                 \
    wanted = "node_type";                          \
    CHECK((call) == 1);                            \
    path = "/proc/self";                           \
    wanted = "status";                             \
    CHECK((call) == 1);                            \
    path = absent;                                 \
    CHECK((call) == -1 && errno == ENOENT);        \
    ++calls;                                       \
  } while (0)

static void check_lists(void) {
  int calls = 0;
  CHECK_LIST(named_by_opendir(path, wanted));
  FOR_EACH(scandir_fn, "scandir", "scandir64") CHECK_LIST(named_by_scandir(fn, path, wanted));
  FOR_EACH(scandirat_fn, "scandirat", "scandirat64") {
    CHECK_LIST(named_by_scandirat(fn, path, wanted));
  }
  CHECK(calls == 5);

  char before[PATH_MAX];
  CHECK(getcwd(before, sizeof before) != NULL);
  CHECK(chdir(device) == 0 && access("node_type", R_OK) == 0);
  CHECK(chdir(before) == 0);
  /* Above our devices lies what is really there. */
  CHECK(access("/sys/class/infiniband/../net", R_OK) == access("/sys/class/net", R_OK));
}

/* Text that changes is that of the moment, however its file is come by. */
static void check_open_device(const char* name) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  CHECK(list != NULL);
  struct ibv_context* context = NULL;
  for (int i = 0; list != NULL && list[i] != NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  if (list != NULL) ibv_free_device_list(list);
  CHECK(context != NULL);
  char port[PATH_MAX];
  char counter[PATH_MAX];
  char tree[PATH_MAX];
  char behind[2 * PATH_MAX];
  snprintf(port, sizeof port, "/sys/class/infiniband/%s/ports/1", name);
  snprintf(counter, sizeof counter, "/sys/class/infiniband/%s/ports/1/counters/port_xmit_data",
           name);
  const int folder = open(port, O_RDONLY | O_DIRECTORY);
  CHECK(folder >= 0 && realpath(port, tree) != NULL);
  snprintf(behind, sizeof behind, "%s/counters/port_xmit_data", tree);
  const int fds[] = {open(counter, O_RDONLY), openat(folder, "counters/port_xmit_data", O_RDONLY),
                     open(behind, O_RDONLY)};
  for (int i = 0; i < 3; ++i) {
    char link[64];
    char target[64] = "";
    char text[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fds[i]);
    CHECK(readlink(link, target, sizeof target - 1) > 0 && strstr(target, "memfd:") != NULL);
    CHECK(read(fds[i], text, sizeof text - 1) >= 2 &&
          strspn(text, "0123456789") == strlen(text) - 1);
    CHECK(lseek(fds[i], 0, SEEK_SET) == 0 && read(fds[i], text, sizeof text) >= 2);
    CHECK(pread(fds[i], text, sizeof text, 0) >= 2);
    /* Another file takes its number. */
    const int other = open(kStatus, O_RDONLY);
    CHECK(dup2(other, fds[i]) == fds[i] && close(other) == 0);
    check_text(fds[i], "another file", "Name:\t");
  }
  check_text(openat(folder, "state", O_RDONLY), "state", "4: ACTIVE\n");
  close(folder);
  if (context != NULL) CHECK(ibv_close_device(context) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  snprintf(device, sizeof device, "/sys/class/infiniband/%s", argv[1]);
  snprintf(attribute, sizeof attribute, "/sys/class/infiniband/%s/node_type", argv[1]);
  snprintf(absent, sizeof absent, "/sys/class/infiniband/%s/absent", argv[1]);
  snprintf(odd, sizeof odd, "//sys/./class//infiniband/%s//./node_type", argv[1]);
  check_opening();
  check_looking();
  check_attributes();
  check_links();
  check_lists();
  check_open_device(argv[1]);
  if (failures == 0) printf("all as expected\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
