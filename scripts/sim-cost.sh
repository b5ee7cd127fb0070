#!/bin/bash
# What a data packet costs the simulator, at 64 and at 4,096 NICs: instructions (callgrind), as the
# difference of two runs whose messages differ in length over the difference in packets, so that
# setting up counts for nothing; and time. Fails if the instructions are not within 25 % of each other.
# usage: sim-cost.sh     (some four minutes)
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || { echo "usage: $0" >&2; exit 2; }
cd "$root"
need_packages build cost
[ -f build/build.ninja ] || configure build
ninja -C build -j "$jobs" apps/mrc-sim >/dev/null || die 'mrc-sim does not build'

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for variant in small-128k small-256k large-128k large-256k; do
  run=(build/apps/mrc-sim --quiet config/sim/cost.yaml --variant "$variant")
  "${run[@]}" --json "$results/$variant.json" >/dev/null || die "$variant: failed"
  instructions "${run[@]}" >"$results/$variant.instructions" || die "$variant: callgrind failed"
done

python3 - "$results" <<'PYTHON'
import json
import pathlib
import sys

results = pathlib.Path(sys.argv[1])


def run(name):
    """Data packets, instructions and seconds of one run."""
    data = json.loads((results / f"{name}.json").read_text())
    variant = data[0]["variants"][0]
    instructions = int((results / f"{name}.instructions").read_text())
    return variant["metrics"]["data_packets"], instructions, variant["runs"][0]["wall_seconds"]


cost = {}
for size, nics in (("small", 64), ("large", 4096)):
    packets_a, instructions_a, _ = run(f"{size}-128k")
    packets_b, instructions_b, seconds_b = run(f"{size}-256k")
    packets = packets_b - packets_a
    cost[nics] = (instructions_b - instructions_a) / packets
    print(f"{nics:5} NICs: {cost[nics]:6.0f} instructions per data packet ({packets:.0f} packets);"
          f" {seconds_b / packets_b * 1e6:.2f} us, setting up included")
ratio = max(cost.values()) / min(cost.values())
print(f"instructions apart by {ratio:.3f}, at most 1.25")
sys.exit(ratio > 1.25)
PYTHON
