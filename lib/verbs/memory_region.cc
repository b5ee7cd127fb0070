// Registration of memory: which ranges and rights are accepted, and when memory is the
// application's own again.
#include <infiniband/verbs.h>
#include <sched.h>

#include <cerrno>
#include <new>

#include "dataplane/rcu.h"
#include "telemetry/log.h"
#include "verbs/mapped_range.h"
#include "verbs/opened_device.h"

namespace softmrc::verbs {

namespace {

struct MemoryRegion {
  struct ibv_mr ibv {};
  Region region;
};

constexpr unsigned kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
// Hints that change nothing here.
constexpr unsigned kHints = IBV_ACCESS_HUGETLB | static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
constexpr unsigned kKinds = IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND;

int check_access(unsigned access) {
  if (access & ~(kRights | kHints | kKinds)) return EINVAL;
  if (access & kKinds) return EOPNOTSUPP;
  const bool remote_writes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  return remote_writes && !(access & IBV_ACCESS_LOCAL_WRITE) ? EINVAL : 0;
}

int check_range(const void* addr, size_t length, uint64_t iova) {
  // As the kernel has it: a region is never empty [D], and neither range wraps.
  if (length == 0) return EINVAL;
  const auto begin = reinterpret_cast<uintptr_t>(addr);
  return begin + length < begin || iova + length < iova ? EINVAL : 0;
}

constexpr auto kDrainStep = std::chrono::milliseconds(100);
constexpr int kDrainSteps = 100;

}  // namespace

struct ibv_mr* reg_mr(struct ibv_pd* pd, void* addr, size_t length, uint64_t iova,
                      unsigned access) {
  Device* device = pd ? device_of(pd->context) : nullptr;
  int error = device ? device->usable() : EINVAL;
  if (error == 0) error = check_access(access);
  if (error == 0) error = check_range(addr, length, iova);
  if (error == 0) error = check_mapped(addr, length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
  MemoryRegion* mr = error == 0 ? new (std::nothrow) MemoryRegion : nullptr;
  if (!mr) {
    errno = error ? error : ENOMEM;
    return nullptr;
  }
  mr->region = {.base = static_cast<uint8_t*>(addr),
                .iova = iova,
                .length = length,
                .pd = domain_of(pd),
                .access = access};
  const auto key = device->regions().add(mr->region);
  if (!key) {
    delete mr;
    errno = ENOMEM;
    return nullptr;
  }
  mr->ibv.context = pd->context;
  mr->ibv.pd = pd;
  mr->ibv.addr = addr;
  mr->ibv.length = length;
  mr->ibv.handle = *key;
  mr->ibv.lkey = mr->ibv.rkey = *key;
  domain_of(pd)->users.fetch_add(1);
  return &mr->ibv;
}

int dereg_mr(struct ibv_mr* mr) {
  Device* device = mr ? device_of(mr->context) : nullptr;
  if (!device) return EINVAL;
  if (const int error = device->usable()) return error;
  auto* region = reinterpret_cast<MemoryRegion*>(mr);

  device->regions().remove(mr->lkey);
  dataplane::rcu::synchronize();  // no worker writes to it after this
  device->abandon_writes_from(region->region);
  bool drained = !device->has_ports();  // no port reads from it after this
  for (int step = 0; step < kDrainSteps && !drained; ++step)
    drained = device->node().drain_transmit(kDrainStep);
  if (!drained) {
    logger().warn("{}: a port does not give back buffers of the region at {}",
                  device->entry().ibv.name, mr->addr);
    return EBUSY;
  }
  domain_of(mr->pd)->users.fetch_sub(1, std::memory_order_release);
  delete region;
  return 0;
}

}  // namespace softmrc::verbs
