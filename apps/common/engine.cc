#include "common/engine.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace softmrc::apps {

void throw_errno(const std::string& what, int error) {
  throw AppError(what + ": " + std::strerror(error));
}

Engine::Engine(const config::NodeConfig& config, const verbs::OpenOptions& options) {
  verbs::DeviceEntry* entry = verbs::add_device(config);
  if (entry == nullptr) throw_errno("device " + config.name, errno);
  context_ = verbs::open_context(entry, options);
  if (context_ == nullptr) throw_errno("opening device " + config.name, errno);
  pd_ = verbs::alloc_pd(context_);
  mrc_context_attr attr{};
  attr.mrc_api_version_used = MRC_API_VER_USED;
  attr.mrc_vendor_api_version_used = MRC_VENDOR_API_VER_USED;
  if (pd_ != nullptr) mrc_ = mrc_create_context(context_, &attr);
  if (mrc_ == nullptr) {
    const int error = errno;
    close();
    throw_errno("opening device " + config.name + " for MRC", error);
  }
}

Engine::~Engine() { close(); }

void Engine::close() {
  if (mrc_ != nullptr) mrc_destroy_context(mrc_);
  if (pd_ != nullptr) verbs::dealloc_pd(pd_);
  if (context_ != nullptr) verbs::close_context(context_);
}

dataplane::Node& Engine::node() const { return verbs::node_of(*verbs::device_of(context_)); }

ibv_gid Engine::gid(int index) const {
  ibv_gid gid{};
  if (const int error = verbs::query_gid(context_, 1, index, &gid); error != 0)
    throw_errno("GID index " + std::to_string(index), error);
  return gid;
}

RegisteredMemory::RegisteredMemory(const Engine& engine, size_t bytes)
    : memory_(nullptr, std::free), size_(bytes) {
  constexpr size_t kPage = 4096;
  memory_.reset(
      static_cast<uint8_t*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
  if (!memory_) throw_errno(std::to_string(bytes) + " bytes of memory", ENOMEM);
  std::memset(memory_.get(), 0, bytes);
  mr_ = verbs::reg_mr(engine.pd(), memory_.get(), bytes, address(),
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (mr_ == nullptr) throw_errno("registering " + std::to_string(bytes) + " bytes", errno);
}

RegisteredMemory::~RegisteredMemory() {
  // Memory that a port still reads must not go away: leaking it is the lesser harm.
  if (verbs::dereg_mr(mr_) != 0) static_cast<void>(memory_.release());
}

}  // namespace softmrc::apps
