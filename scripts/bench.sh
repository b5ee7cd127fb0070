#!/bin/bash
# Measures softmrc beside its yardsticks on this machine and writes doc/benchmarks.md and
# build/bench.json. Takes some minutes; leave the machine alone meanwhile. Options are those of
# test/bench/bench.py (--rounds N, --seconds N).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
need_packages build bench
configure build
ninja -C build -j "$jobs" apps/mrc-perf apps/mrc-run drivers/verbs/libmrc-verbs.so \
  test/bench/{stages,crc_copy,write_cost,idle_qps,memif_ping}
exec python3 test/bench/bench.py build doc/benchmarks.md build/bench.json "$@"
