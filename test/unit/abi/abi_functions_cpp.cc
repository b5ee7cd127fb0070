// SPDX-License-Identifier: BSD-2-Clause
// The same as C++, where an enum is not an integer and the names need C linkage.
#include "abi_functions.c"
