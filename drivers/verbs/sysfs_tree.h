// The folder on disk that stands for /sys/class/infiniband: the real entries as links, and a folder
// for each device of ours with the files of sysfs.h.
//
// It lies in the state directory of the first device, under a name made from all it holds, so that
// any number of processes share one, nobody changes it or takes it away, and nothing is left behind
// when one is killed. [D] Files whose text changes are in it too, as of a device that is not open;
// whoever opens one through sysfs_text.h gets the text of the moment. What appears among the real
// entries after the first look is not seen.
#pragma once

#include <string>

namespace softmrc::interposer {

// Its path, without a slash at the end; made at the first call. "": there are no devices of ours,
// or it cannot be made (logged once).
const std::string& sysfs_tree();
// nullptr: nobody has asked for it yet.
const std::string* sysfs_tree_so_far();

}  // namespace softmrc::interposer
