#!/bin/bash
# Instructions per 64-byte write over net_ring, both ends and acknowledgements together, with SRv6, ICRC and
# NSCC: the difference of two runs under callgrind over the difference in writes, so that setting up counts
# for nothing. Time plays no part: fails only if the code has grown. Expects WRITE_COST and CONFIG.
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
command -v valgrind >/dev/null || { echo 'skipped: valgrind is not installed'; exit 77; }

most=5300   # 4,550 to 4,590 measured, 5,030 beside two compilers: what time brings counts too. To be lowered with each gain
few=6400 many=38400  # writes

writing=("$WRITE_COST" "$CONFIG/loopback-nscc-a.yaml" "$CONFIG/loopback-nscc-b.yaml" 64)
before=$(instructions "${writing[@]}" $few)
after=$(instructions "${writing[@]}" $many)
each=$(((after - before) / (many - few)))
echo "$each instructions per 64-byte write, at most $most"
[ $each -gt 100 ] || { echo 'FAILED: that cannot be' >&2; exit 1; }
[ $each -le $most ] || { echo 'FAILED: the hot path has grown' >&2; exit 1; }
