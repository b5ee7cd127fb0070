/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Version numbers of the control interface declared in mrc_ctl.h (MRC interface 1.0.1). It is
 * versioned apart from mrc.h; the encoding is the same, see mrc_api_ver.h.
 */
#ifndef MRC_CTL_API_VER_H
#define MRC_CTL_API_VER_H

#define MRC_CTL_API_VER(major, minor, subminor) \
  (((0u + (major)) << 24) | ((0u + (minor)) << 16) | (0u + (subminor)))

#define MRC_CTL_API_CURRENT_VERSION MRC_CTL_API_VER(1, 0, 1)
#define MRC_CTL_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)

#define MRC_CTL_VENDOR_API_CURRENT_VERSION MRC_CTL_API_VER(1, 0, 0)
#define MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION MRC_CTL_API_VER(0, 0, 0)

/* As MRC_CTL_API_VER_USED or MRC_CTL_VENDOR_API_VER_USED: whatever version the headers have. */
#define MRC_CTL_API_VER_LATEST MRC_CTL_API_VER(0xFF, 0xFF, 0xFFFF)

#endif /* MRC_CTL_API_VER_H */
