// SPDX-License-Identifier: BSD-2-Clause
// The same test as C++, where it also compares the types of enumerators.
#include "abi_layout_test.c"
