#!/bin/bash
# The stock tools of rdma-core, under mrc-run: both end with exit status 0 and show our device.
# Usage: ibverbs_utils_test.sh MRC_RUN NODE_FILE DEVICE
set -u
mrc_run=$1
node_file=$2
device=$3
if ! command -v ibv_devices >/dev/null || ! command -v ibv_devinfo >/dev/null; then
  echo 'ibverbs-utils is not installed'
  exit 77
fi
failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}

# expect PATTERN COMMAND...
expect() {
  local pattern=$1 output
  shift
  output=$("$mrc_run" --config "$node_file" -- "$@" 2>&1) || complain "$*: exit status $?: $output"
  grep -qE -- "$pattern" <<<"$output" || complain "$*: no line like '$pattern' in: $output"
}

expect "^ +${device}[[:space:]]+[0-9a-f]{16}$" ibv_devices
expect "^hca_id:[[:space:]]+$device$" ibv_devinfo
expect 'vendor_id:[[:space:]]+0x0000$' ibv_devinfo -d "$device"
# All of the preloaded library is bound before the program starts.
expect "^hca_id:[[:space:]]+$device$" env LD_BIND_NOW=1 ibv_devinfo
expect 'GID\[ +3\]:.*RoCE v2' ibv_devinfo -v -d "$device"
exit $((failures > 0))
