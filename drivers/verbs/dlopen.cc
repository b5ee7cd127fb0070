// Programs that load libibverbs while they run, as NCCL does, get a handle of this library: what is
// interposed is found in it first, at rdma-core's versions, and everything else in libibverbs
// behind it, which it depends on. The handle is counted as any other.
//
// Every other call goes on as a jump, never as a call of ours: by the return address the C library
// knows whose RUNPATH and $ORIGIN count.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "dataplane/eal.h"
#include "interpose.h"

// What makes the jump certain: clang has a word for it; gcc jumps where it optimizes, unless
// something has to be done after the call, as sanitizers and coverage would like to.
#if defined(__clang__)
#define SOFTMRC_JUMPS
#define SOFTMRC_JUMP [[clang::musttail]] return
#else
#define SOFTMRC_JUMPS                                                           \
  __attribute__((optimize("O2"), no_sanitize("address", "thread", "undefined"), \
                 no_profile_instrument_function))
#define SOFTMRC_JUMP return
#endif

namespace softmrc::interposer {
namespace {

using Dlopen = void*(const char* file, int mode);

Dlopen* real_dlopen() {
  static const auto real = reinterpret_cast<Dlopen*>(dlsym(RTLD_NEXT, "dlopen"));
  return real;
}

// [D] A path counts by its last part, wherever it leads: a second libibverbs in the process would
// know nothing of our devices. One that leads nowhere fails as ever.
bool names_libibverbs(const char* file) {
  if (file == nullptr) return false;
  const char* const slash = std::strrchr(file, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : file;
  if (name != "libibverbs.so.1" && name != "libibverbs.so") return false;
  return slash == nullptr || access(file, F_OK) == 0;
}

void* open_ourselves(const char* /*file*/, int mode) {
  Dl_info own = {};
  static const char anchor = 0;
  // Found by the name it was loaded under, whatever the working directory is by now.
  dladdr(&anchor, &own);
  return real_dlopen()(own.dli_fname, mode);
}

// DPDK's drivers get the real library, as they get the real list.
[[gnu::noinline]] Dlopen* choose(const char* file) noexcept {
  if (names_libibverbs(file) && !dataplane::starting_eal()) return open_ourselves;
  return real_dlopen();
}

}  // namespace
}  // namespace softmrc::interposer

using namespace softmrc::interposer;

// Under names of their own: <dlfcn.h> declares dlopen as one that does not throw, and what does not
// throw has something to do after each call.
SOFTMRC_INTERPOSED Dlopen interposed_dlopen __asm__("dlopen");
SOFTMRC_INTERPOSED Dlopen interposed_dlopen_of_libdl __asm__("softmrc_dlopen_of_libdl");

SOFTMRC_JUMPS void* interposed_dlopen(const char* file, int mode) {
  SOFTMRC_JUMP choose(file)(file, mode);
}

// For programs built when dlopen was libdl's (GLIBC_2.2.5 on x86-64).
SOFTMRC_JUMPS void* interposed_dlopen_of_libdl(const char* file, int mode) {
  SOFTMRC_JUMP choose(file)(file, mode);
}
__asm__(".symver softmrc_dlopen_of_libdl, dlopen@GLIBC_2.2.5");
