// What /sys/class/infiniband/DEVICE says of a device of ours, in the kernel's words, for programs
// that read it there.
//
// [D] Counters are those of this process, which has ports of its own; a device that it has not
// opened has counted nothing, and its ports are as they are right after opening. Counters of the
// transport stand at port 1, where programs look for them, since packets of a QP go over all ports;
// those of another port are 0. Only what is counted has a file.
#pragma once

#include <map>
#include <string>

#include "verbs/device.h"

namespace softmrc::interposer {

// Text by path below the device's folder.
using SysfsFiles = std::map<std::string, std::string>;
// As of a device that is not open.
SysfsFiles sysfs_files(const verbs::DeviceEntry& entry);
// As of now, whether or not this process has it open.
SysfsFiles sysfs_files_now(verbs::DeviceEntry& entry);

// What the link DEVICE/device leads to: the PCI device of the first plane's port; "": it has none.
std::string sysfs_pci_device(const verbs::DeviceEntry& entry);

}  // namespace softmrc::interposer
