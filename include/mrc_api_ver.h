/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Version numbers of the interface declared in mrc.h (MRC interface 1.0.1).
 *
 * A version is one 32-bit number: major in bits 31..24, minor in bits 23..16, subminor in bits
 * 15..0, so that versions compare as numbers do. All macros can be used in #if.
 */
#ifndef MRC_API_VER_H
#define MRC_API_VER_H

/* Unsigned on purpose: a major number of 0x80 or more would not fit an int. */
#define MRC_API_VER(major, minor, subminor) \
  (((0u + (major)) << 24) | ((0u + (minor)) << 16) | (0u + (subminor)))

/* What these headers declare, and the oldest version whose programs the library still serves. */
#define MRC_API_CURRENT_VERSION MRC_API_VER(1, 0, 1)
#define MRC_API_LAST_SUPPORTED_VERSION MRC_API_VER(0, 0, 0)

/* The same pair for the content of the vendor_cfg arrays. */
#define MRC_VENDOR_API_CURRENT_VERSION MRC_API_VER(1, 0, 0)
#define MRC_VENDOR_API_LAST_SUPPORTED_VERSION MRC_API_VER(0, 0, 0)

/* As MRC_API_VER_USED or MRC_VENDOR_API_VER_USED: whatever version the headers have. */
#define MRC_API_VER_LATEST MRC_API_VER(0xFF, 0xFF, 0xFFFF)

#endif /* MRC_API_VER_H */
