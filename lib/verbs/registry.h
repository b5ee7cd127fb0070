// What the registry of devices keeps beyond a DeviceEntry: the device while it is open.
#pragma once

#include <memory>
#include <mutex>

#include "verbs/device.h"

namespace softmrc::verbs {

struct RegisteredDevice : DeviceEntry {
  std::mutex mutex;              // opening and closing
  std::weak_ptr<Device> opened;  // shared by the contexts
};

RegisteredDevice& registered(DeviceEntry& entry);

}  // namespace softmrc::verbs
