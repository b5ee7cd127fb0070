// What every interposed call is made of: whose object is it, the function behind us for objects of
// real devices, and the refusal for what our devices do not do. The rule of this library: no
// libibverbs function may ever see one of our objects, and no call on a real device changes.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <type_traits>

#include "verbs/device.h"

// These names are inline wrappers in the header; here the exported functions are meant.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

// The version node of each symbol stands in libmrc-verbs.map, with rdma-core's names.
#define SOFTMRC_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace softmrc::interposer {

// Is this ours? Never while this thread starts EAL: its drivers enumerate and open real devices
// through these same calls, and the device that is being opened must not find itself.
bool ours(const struct ibv_device* device);
bool ours(const struct ibv_context* context);

// Any object that points at its context: PD, MR, CQ, QP, SRQ, WQ, AH, DM, completion channel.
template <typename Object>
bool ours(const Object* object) {
  return object != nullptr && ours(object->context);
}

// errno = EOPNOTSUPP, one debug line naming the call; returns EOPNOTSUPP for callers that return
// errno values.
int refuse(const char* function);

// 0, or errno set and -1: the convention of the older calls.
inline int minus_one(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// Symbol `name` at `version` in the libraries behind this one; nullptr: none there.
void* next_symbol(const char* name, const char* version);

// The function behind us. An rdma-core too old to have it does what the header says of an
// unsupported call.
template <typename Function>
class Next;

template <typename Result, typename... Args>
class Next<Result(Args...)> {
 public:
  Next(const char* name, const char* version)
      : name_(name), function_(reinterpret_cast<Result (*)(Args...)>(next_symbol(name, version))) {}

  Result operator()(Args... args) const {
    if (function_ != nullptr) return function_(args...);
    const int error = refuse(name_);
    if constexpr (std::is_same_v<Result, int>) {
      return error;
    } else {
      return Result();
    }
  }

 private:
  const char* name_;
  Result (*function_)(Args...);
};

}  // namespace softmrc::interposer

// Ends an interposed function: the call goes on, untouched, to the function behind us.
#define SOFTMRC_FORWARD(version, function, ...)                                           \
  do {                                                                                    \
    static const ::softmrc::interposer::Next<decltype(function)> next_function(#function, \
                                                                               version);  \
    return next_function(__VA_ARGS__);                                                    \
  } while (false)
