// Verbs contexts: each is a view of its device, and what keeps it open.
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>

#include <new>
#include <system_error>

#include "telemetry/log.h"
#include "verbs/fork_guard.h"
#include "verbs/opened_device.h"
#include "verbs/registry.h"

namespace softmrc::verbs {

namespace {

// The layout libibverbs' inline functions rely on: `context` is the last member of verbs_context,
// and abi_compat says that a verbs_context is what it lies in. Our own state follows.
struct Context {
  struct verbs_context verbs {};
  std::shared_ptr<Device> device;
  std::shared_ptr<AsyncEvents> events;
  std::atomic<uint32_t> users{0};  // PDs, completion channels, CQs
};

Context* context_of(struct ibv_context* context) {
  return reinterpret_cast<Context*>(verbs_get_ctx(context));
}

std::shared_ptr<Device> open_device(RegisteredDevice& entry, const OpenOptions& options) {
  const std::lock_guard lock(entry.mutex);
  std::shared_ptr<Device> device = entry.opened.lock();
  if (!device) {
    watch_forks();
    device = std::shared_ptr<Device>(new Device(entry, options));
    entry.opened = device;
  }
  return device;
}

}  // namespace

struct ibv_context* open_context(DeviceEntry* entry, const OpenOptions& options) {
  if (!entry) {
    errno = EINVAL;
    return nullptr;
  }
  std::unique_ptr<Context> context;
  const auto give_up = [&context](int error) {
    if (context != nullptr && context->device) release_device(std::move(context->device));
    errno = error;
    return nullptr;
  };
  try {
    context = std::make_unique<Context>();
    context->device = open_device(registered(*entry), options);
    context->events = context->device->add_events();
  } catch (const std::bad_alloc&) {
    return give_up(ENOMEM);
  } catch (const std::system_error& error) {  // no descriptor for events
    return give_up(error.code().value());
  } catch (const std::exception& error) {
    logger().warn("{} cannot be opened: {}", entry->ibv.name, error.what());
    return give_up(EIO);
  }
  struct verbs_context& verbs = context->verbs;
  verbs.sz = sizeof verbs;
  verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  verbs.context.device = &entry->ibv;
  verbs.context.cmd_fd = -1;
  verbs.context.async_fd = context->events->fd();
  verbs.context.num_comp_vectors = 1;
  pthread_mutex_init(&verbs.context.mutex, nullptr);
  return &context.release()->verbs.context;
}

int close_context(struct ibv_context* context) {
  if (!is_ours(context)) return EINVAL;
  Context* c = context_of(context);
  if (const int error = c->device->usable()) return error;
  if (c->users.load(std::memory_order_acquire) != 0) return EBUSY;
  pthread_mutex_destroy(&context->mutex);
  release_device(std::move(c->device));
  delete c;
  return 0;
}

bool is_ours(const struct ibv_context* context) {
  return context && find_device(context->device) != nullptr;
}

Device* device_of(struct ibv_context* context) {
  return is_ours(context) ? context_of(context)->device.get() : nullptr;
}

std::shared_ptr<AsyncEvents> events_of(struct ibv_context* context) {
  return is_ours(context) ? context_of(context)->events : nullptr;
}

std::atomic<uint32_t>& users_of(struct ibv_context* context) { return context_of(context)->users; }

std::shared_ptr<Device> share_device(struct ibv_context* context) {
  return is_ours(context) ? context_of(context)->device : nullptr;
}

std::shared_ptr<Device> opened_device(DeviceEntry& entry) {
  const std::unique_lock lock(registered(entry).mutex, std::try_to_lock);
  return lock.owns_lock() ? registered(entry).opened.lock() : nullptr;
}

void release_device(std::shared_ptr<Device> device) {
  const std::lock_guard lock(registered(device->entry()).mutex);
  device.reset();
}

struct ibv_pd* alloc_pd(struct ibv_context* context) {
  Device* device = device_of(context);
  errno = device ? device->usable() : EINVAL;
  if (errno != 0) return nullptr;
  auto* pd = new (std::nothrow) ProtectionDomain{};
  if (!pd) {
    errno = ENOMEM;
    return nullptr;
  }
  pd->ibv.context = context;
  context_of(context)->users.fetch_add(1);
  return &pd->ibv;
}

int dealloc_pd(struct ibv_pd* pd) {
  if (!pd || !is_ours(pd->context)) return EINVAL;
  Context* context = context_of(pd->context);
  if (const int error = context->device->usable()) return error;
  if (domain_of(pd)->users.load(std::memory_order_acquire) != 0) return EBUSY;
  delete domain_of(pd);
  context->users.fetch_sub(1, std::memory_order_release);
  return 0;
}

ProtectionDomain* domain_of(struct ibv_pd* pd) { return reinterpret_cast<ProtectionDomain*>(pd); }

}  // namespace softmrc::verbs
