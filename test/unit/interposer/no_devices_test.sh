#!/bin/bash
# Without configuration the interposer is invisible: no device, no error, not a word on either stream,
# and programs that have nothing to do with RDMA run as ever.
# Usage: no_devices_test.sh MRC_RUN LIST_PROGRAM
set -u
mrc_run=$1
list=$2
unset SOFTMRC_CONFIG
failures=0
complain() {
  echo "$*"
  failures=$((failures + 1))
}

output=$("$mrc_run" "$list" 2>&1) || complain "$list: exit status $?"
[ -z "$output" ] || complain "noise: $output"
[ "$("$mrc_run" echo word 2>&1)" = word ] || complain 'echo does not run as it should'
exit $((failures > 0))
