#!/bin/bash
# Random small networks, workloads and faults against the oracles of lib/sim/chaos_run.h. Exit status
# 1: an oracle was violated; the run is then cut down and printed, with the command that repeats it.
# usage: chaos.sh [--seeds N] [--first N] [--jobs N] ...   (mrc-sim chaos --help)
#
# Without --first the seeds are fresh: CHAOS_FIRST, else the time. CHAOS_BINARY: a mrc-sim that is
# built already; else build/ is brought up to date.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

binary=${CHAOS_BINARY:-}
if [ -z "$binary" ]; then
  [ -f "$root/build/build.ninja" ] || configure "$root/build"
  ninja -C "$root/build" -j "$jobs" apps/mrc-sim >/dev/null || die 'mrc-sim does not build'
  binary=$root/build/apps/mrc-sim
fi

arguments=("$@")
[[ " $* " == *' --seeds'* ]] || arguments+=(--seeds 100000)
[[ " $* " == *' --first'* ]] || arguments+=(--first "${CHAOS_FIRST:-$(date +%s)000}")
[[ " $* " == *' --jobs'* ]] || arguments+=(--jobs "$jobs")
exec "$binary" chaos "${arguments[@]}"
