#!/bin/bash
# A program that polls its memory for the last word of a write, and calls nothing, finds all of the
# write there: two processes under mrc-run, four memif planes. Expects MRC_RUN, MEMORY_POLL and CONFIG
# in the environment; WRITES says how many (ten million).
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"
writes=${WRITES:-10000000}
limit=$((60 + writes / 50000))

echo '== the program finds out when words are stored in the wrong order, and only then'
"$MEMORY_POLL" ascending 200000
! "$MEMORY_POLL" descending 20000000 2>"$run/descending" || fail 'it did not notice'
grep -q 'the flag of write [0-9]* shows, word [0-9]* of' "$run/descending" || fail "$(cat "$run/descending")"
echo "ok: $(cat "$run/descending")"

echo "== $writes writes"
under_mrc_run "$server_config" reader "$MEMORY_POLL" mrc-a $tcp_port "$writes"
reader=$started
under_mrc_run "$client_config" writer "$MEMORY_POLL" mrc-b $tcp_port "$writes" 127.0.0.1
wait "$started" || fail "the writer ends with $?"
wait "$reader" || fail "the reader ends with $?"
processes=()
cat "$run/reader.out"
