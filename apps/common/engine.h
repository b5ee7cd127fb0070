// One end's device, opened from a node file for the length of the run, and what libmrc needs of it:
// a context, a protection domain, registered memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "config/node_config.h"
#include "mrc.h"
#include "verbs/device.h"

namespace softmrc::apps {

class Engine {
 public:
  // Throws AppError.
  Engine(const config::NodeConfig& config, const verbs::OpenOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  mrc_context* mrc() const { return mrc_; }
  ibv_pd* pd() const { return pd_; }
  dataplane::Node& node() const;
  ibv_gid gid(int index) const;  // throws AppError: no such entry

 private:
  void close();

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  mrc_context* mrc_ = nullptr;
};

// Ordinary memory, registered for local access and the peer's writes.
class RegisteredMemory {
 public:
  RegisteredMemory(const Engine& engine, size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  std::span<uint8_t> bytes() const { return {memory_.get(), size_}; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_.get()); }
  uint32_t lkey() const { return mr_->lkey; }
  uint32_t rkey() const { return mr_->rkey; }

 private:
  std::unique_ptr<uint8_t, void (*)(void*)> memory_;
  size_t size_;
  ibv_mr* mr_ = nullptr;
};

// What a libmrc or verbs call left in errno, after `what`.
[[noreturn]] void throw_errno(const std::string& what, int error);

}  // namespace softmrc::apps
