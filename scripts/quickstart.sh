#!/bin/bash
# From a fresh Debian 12 to a running MRC: installs the packages that building needs, builds into
# build/, and sends 1 GiB in writes of 64 KiB over four planes under SRv6 between two devices in one
# process, verified, each plane with its share. Needs no NIC, no hugepages and, once the packages are
# there, no root. Safe to run again.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

need_packages build
cd "$root"
configure build
ninja -C build -j "$jobs" programs

echo
exec build/apps/mrc-perf loopback --size 64K --total 1G --verify --check-demo
