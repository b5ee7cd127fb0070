// Files in sysfs whose text changes: those of ports. As with the kernel's, the text is that of the
// moment when a file is opened, and again whenever it is read from its beginning by that
// descriptor.
#pragma once

#include <sys/types.h>

#include <string>

namespace softmrc::interposer {

// A descriptor for reading; -1: the file does not change. Leaves errno as it is.
int open_sysfs_text(const std::string& below_tree, int flags);
// Before a read at `offset`, or from where the descriptor stands. Does nothing to other
// descriptors, at the cost of a look into a table; leaves errno as it is.
void refresh_sysfs_text(int file, off_t offset);
void refresh_sysfs_text(int file);

}  // namespace softmrc::interposer
