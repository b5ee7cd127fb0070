// What the opaque handles of mrc.h point to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mrc.h"
#include "verbs/completion_channel.h"
#include "verbs/completion_queue.h"
#include "verbs/ev_event_queue.h"
#include "verbs/opened_device.h"
#include "verbs/queue_pair.h"

struct mrc_context {
  std::shared_ptr<softmrc::verbs::Device> device;       // stays open beside its verbs contexts
  std::shared_ptr<softmrc::verbs::AsyncEvents> events;  // shared with its verbs context
  uint32_t api_version = 0;                             // what the program was written for
  std::atomic<uint32_t> users{0};                       // channels, CQs, QPs and hints
  std::atomic<uint32_t> hints{0};
};

struct mrc_comp_channel {
  struct mrc_context* context = nullptr;
  softmrc::verbs::CompletionChannel* channel = nullptr;
};

struct mrc_cq {
  struct mrc_context* context = nullptr;
  softmrc::verbs::CompletionQueue* queue = nullptr;
  softmrc::verbs::EvEventQueue* events = nullptr;  // instead of the queue
};

struct mrc_qp_hint {
  struct mrc_context* context = nullptr;
  std::atomic<uint32_t> users{0};  // QPs
  std::mutex mutex;                // attr
  struct mrc_qp_hint_attr attr {};
};

struct mrc_qp {
  struct mrc_context* context = nullptr;
  softmrc::verbs::QueuePair* pair = nullptr;
  struct mrc_qp_init_attr init {};
  std::mutex mutex;  // hint
  struct mrc_qp_hint* hint = nullptr;
};
