// The device list, and what can be asked of a device before it is opened. Real devices come first,
// so that programs that take the first one find what they found before. The real list may be
// missing altogether (no kernel support: ENOSYS); without devices of our own that is an empty list
// and no error, so that a program under mrc-run without configuration just finds nothing. [D]
#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "dataplane/eal.h"
#include "interpose.h"
#include "sysfs_paths.h"

namespace softmrc::interposer {
namespace {

// Lists handed out and the real list each was made from (nullptr: none), to be freed together.
// Devices of a real list stay valid only as long as it is not freed.
std::mutex lists_mutex;
std::map<struct ibv_device**, struct ibv_device**>& lists() {
  // Never destroyed: programs free their list from atexit handlers too.
  static auto* const map = new std::map<struct ibv_device**, struct ibv_device**>;
  return *map;
}

// libibverbs looks for a driver for each device in sysfs: it may not find ours.
struct ibv_device** real_list(int* count) {
  const RealSysfs real;
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_device_list, count);
}

void free_real_list(struct ibv_device** list) {
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_free_device_list, list);
}

// nullptr with errno ENOMEM, or a list that ends with a nullptr.
struct ibv_device** join(struct ibv_device** real, size_t real_count,
                         const std::vector<verbs::DeviceEntry*>& own) {
  auto** const list = static_cast<struct ibv_device**>(
      std::calloc(real_count + own.size() + 1, sizeof(struct ibv_device*)));
  if (list == nullptr) return nullptr;
  std::copy_n(real, real_count, list);
  std::transform(own.begin(), own.end(), list + real_count,
                 [](verbs::DeviceEntry* entry) { return &entry->ibv; });
  const std::lock_guard lock(lists_mutex);
  lists().emplace(list, real);
  return list;
}

}  // namespace
}  // namespace softmrc::interposer

using namespace softmrc;
using namespace softmrc::interposer;

SOFTMRC_INTERPOSED struct ibv_device** ibv_get_device_list(int* num_devices) {
  // A DPDK driver that looks for its own hardware gets the real list as it is.
  if (dataplane::starting_eal()) return real_list(num_devices);
  int real_count = 0;
  struct ibv_device** const real = real_list(&real_count);
  const int real_errno = errno;
  if (real == nullptr) real_count = 0;
  const auto own = verbs::configured_devices();
  if (real == nullptr && own.empty() && real_errno != ENOSYS) {
    if (num_devices != nullptr) *num_devices = 0;
    errno = real_errno;
    return nullptr;
  }
  struct ibv_device** const list = join(real, static_cast<size_t>(real_count), own);
  if (list == nullptr) {
    if (real != nullptr) free_real_list(real);
    errno = ENOMEM;
    return nullptr;
  }
  if (num_devices != nullptr) *num_devices = real_count + static_cast<int>(own.size());
  errno = 0;
  return list;
}

SOFTMRC_INTERPOSED void ibv_free_device_list(struct ibv_device** list) {
  struct ibv_device** real = list;
  {
    const std::lock_guard lock(lists_mutex);
    if (const auto it = lists().find(list); it != lists().end()) {
      real = it->second;
      lists().erase(it);
      std::free(list);
    }
  }
  if (real != nullptr) free_real_list(real);
}

SOFTMRC_INTERPOSED const char* ibv_get_device_name(struct ibv_device* device) {
  if (ours(device)) return device->name;
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_device_name, device);
}

SOFTMRC_INTERPOSED __be64 ibv_get_device_guid(struct ibv_device* device) {
  if (ours(device)) return verbs::device_guid(*verbs::find_device(device));
  SOFTMRC_FORWARD("IBVERBS_1.1", ibv_get_device_guid, device);
}

// The kernel's number of the device; ours have none, which the call reports as -1.
SOFTMRC_INTERPOSED int ibv_get_device_index(struct ibv_device* device) {
  if (ours(device)) return -1;
  SOFTMRC_FORWARD("IBVERBS_1.9", ibv_get_device_index, device);
}
