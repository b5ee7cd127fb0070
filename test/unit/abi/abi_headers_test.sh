#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compiles small programs against the public headers, among them ones that must not compile.
# Usage: abi_headers_test.sh INCLUDE_DIR    (CC and CXX name the compilers)
set -u
include=$1
cc=${CC:-cc}
cxx=${CXX:-c++}
warnings='-Wall -Wextra -Werror -pedantic'
failures=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

compile() {  # LANGUAGE FLAGS..., the program on standard input
  language=$1
  shift
  if [ "$language" = c ]; then
    $cc -std=c99 $warnings -fsyntax-only -I "$include" "$@" -x c - >"$log" 2>&1
  else
    $cxx -std=c++20 $warnings -fsyntax-only -I "$include" "$@" -x c++ - >"$log" 2>&1
  fi
}

accepted() {  # WHAT FLAGS...
  what=$1
  shift
  program=$(cat)
  for language in c c++; do
    if ! printf '%s\n' "$program" | compile $language "$@"; then
      echo "$what ($language): must compile"
      sed -n 1,5p "$log"
      failures=$((failures + 1))
    fi
  done
}

refused() {  # WHAT REASON FLAGS...: the compiler must name the reason
  what=$1
  reason=$2
  shift 2
  program=$(cat)
  for language in c c++; do
    if printf '%s\n' "$program" | compile $language "$@"; then
      echo "$what ($language): must not compile"
      failures=$((failures + 1))
    elif ! grep -q -e "$reason" "$log"; then
      echo "$what ($language): fails, but not because of '$reason'"
      sed -n 1,5p "$log"
      failures=$((failures + 1))
    fi
  done
}

for header in mrc_api_ver.h mrc_ctl_api_ver.h mrc.h mrc_ctl.h; do
  accepted "$header alone, twice" <<END
#include "$header"
#include "$header"
int unused;
END
done

both='#include <mrc.h>
#include <mrc_ctl.h>'
is='#define IS(name, condition) typedef char name[(condition) ? 1 : -1]'

# Above the current version, by one and by much.
for version in 'MRC_API_VER(1,0,2)' 'MRC_API_VER(0xff,0xff,0xfffe)'; do
  refused "$version" 'MRC_API_VER_USED is newer' "-DMRC_API_VER_USED=$version" <<END
$both
END
  refused "ctl $version" 'MRC_CTL_API_VER_USED is newer' \
    "-DMRC_CTL_API_VER_USED=$(echo "$version" | sed s/MRC_/MRC_CTL_/)" <<END
$both
END
done
refused 'vendor 1.0.1' 'MRC_VENDOR_API_VER_USED is newer' \
  '-DMRC_VENDOR_API_VER_USED=MRC_API_VER(1,0,1)' <<END
$both
END
refused 'ctl vendor 1.0.1' 'MRC_CTL_VENDOR_API_VER_USED is newer' \
  '-DMRC_CTL_VENDOR_API_VER_USED=MRC_CTL_API_VER(1,0,1)' <<END
$both
END

accepted 'LATEST is the current version' \
  -DMRC_API_VER_USED=MRC_API_VER_LATEST -DMRC_VENDOR_API_VER_USED=MRC_API_VER_LATEST \
  -DMRC_CTL_API_VER_USED=MRC_CTL_API_VER_LATEST \
  -DMRC_CTL_VENDOR_API_VER_USED=MRC_CTL_API_VER_LATEST <<END
$both
$is
IS(a, MRC_API_VER_USED == 0x01000001u);
IS(b, MRC_VENDOR_API_VER_USED == 0x01000000u);
IS(c, MRC_CTL_API_VER_USED == 0x01000001u);
IS(d, MRC_CTL_VENDOR_API_VER_USED == 0x01000000u);
END

# A program may look at the version macros first and choose then.
accepted 'version chosen after mrc_api_ver.h' <<END
#include <mrc_api_ver.h>
#include <mrc_ctl_api_ver.h>
#define MRC_API_VER_USED MRC_API_VER(1, 0, 0)
#define MRC_CTL_API_VER_USED MRC_CTL_API_VER(1, 0, 0)
$both
enum { mrc_query_device_ex, mrc_ctl_query_device_ex };
$is
IS(a, sizeof(struct mrc_ctl_ev_event) == 48);
END

# Each macro acts on its own header only.
accepted 'MRC_API_VER_USED alone' '-DMRC_API_VER_USED=MRC_API_VER(1,0,0)' <<END
$both
enum { mrc_query_device_ex };
int (*ctl)(struct ibv_context*, struct mrc_context*, struct mrc_ctl_device_attr*, int*) =
    mrc_ctl_query_device_ex;
$is
IS(a, sizeof(struct mrc_ctl_ev_event) == 56);
END
accepted 'MRC_CTL_API_VER_USED alone' '-DMRC_CTL_API_VER_USED=MRC_CTL_API_VER(1,0,0)' <<END
$both
enum { mrc_ctl_query_device_ex };
int (*data)(struct ibv_context*, struct mrc_context*, struct mrc_device_attr*, int*) =
    mrc_query_device_ex;
$is
IS(a, sizeof(struct mrc_ctl_ev_event) == 48);
END
refused 'event.state in 1.0.0' 'state' '-DMRC_CTL_API_VER_USED=MRC_CTL_API_VER(1,0,0)' <<END
$both
int f(struct mrc_ctl_ev_event* event);
int f(struct mrc_ctl_ev_event* event) { return (int)event->state; }
END

# How programs use the masks: as int, without a warning.
accepted 'masks are int' -Wsign-compare -Wconversion -Wsign-conversion <<END
$both
int f(int mask);
int f(int mask) {
  const int all = MRC_QP_TIMEOUT | MRC_QP_VENDOR_CFG;
  struct mrc_ctl_ev evs[2] = {MRC_CTL_EV_UNPOPULATED, MRC_CTL_EV_UNPOPULATED};
  evs[0] = MRC_CTL_EV_UNPOPULATED;
  return mask == MRC_QP_VENDOR_CFG || (mask & ~all) != 0 || evs[0].port != evs[1].port;
}
END

[ "$failures" -eq 0 ] && echo 'all as expected' || echo "$failures failures"
[ "$failures" -eq 0 ]
