#!/bin/bash
# Measures softmrc beside its yardsticks on this machine and writes doc/benchmarks.md with its chart, and
# build/bench.json. Takes some minutes; leave the machine alone meanwhile. Options are those of
# test/bench/bench.py (--rounds N, --seconds N).
#
# With --quick: one short round, written to build/ only, which says roughly where the machine stands; it fails
# only if the code takes more instructions per packet than it did, never on time.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
need_packages build bench
configure build
ninja -C build -j "$jobs" apps/mrc-perf apps/mrc-run drivers/verbs/libmrc-verbs.so \
  test/bench/{stages,crc_copy,write_cost,idle_qps,memif_ping}
report=doc/benchmarks
[ "${1:-}" != --quick ] || report=build/bench-quick
exec python3 test/bench/bench.py build $report.md build/bench.json $report.svg "$@"
