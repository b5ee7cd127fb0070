#!/bin/bash
# ThreadSanitizer over what runs in several threads: four of them on 64 QPs for a minute, the contract
# tests of libmrc, and the unit tests of the layers with threads of their own. A race fails its test.
# Usage: scripts/tsan.sh [MESON-TEST...], all of these without one
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$root"
need_packages build test
configure build-tsan -Dwerror=true -Db_sanitize=thread -Doptimization=1
[ $# -gt 0 ] || set -- thread_stress libmrc verbs dataplane control
export TSAN_OPTIONS="suppressions=$root/scripts/tsan.supp:second_deadlock_stack=1"
export STRESS_SECONDS=${STRESS_SECONDS:-60}
exec meson test -C build-tsan --timeout-multiplier 10 --num-processes 1 --print-errorlogs "$@"
