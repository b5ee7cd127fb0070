#!/bin/bash
# Stock perftest between two processes under mrc-run, over four memif planes with SRv6: with the
# options people give it both sides end well; what MRC does not do ends at once, with a message.
# Expects MRC_RUN and CONFIG in the environment.
set -euo pipefail
. "$(dirname "$0")/perftest_lib.sh"

# The client says something and fails within five seconds; the server too, or it is one that nobody
# tells, and is ended here.
refused() {
  local status=0
  serve 20 "$@"
  connect 5 "$@" || status=$?
  [ $status -ne 0 ] && [ $status -lt 124 ] || fail "$*: the client ends with $status"
  grep -qiE "unable|couldn't|can't|fail|not support" "$run/client.out" || fail "$*: the client says nothing"
  for ((i = 0; i < 50; ++i)); do kill -0 $server 2>/dev/null || break; sleep 0.1; done
  kill -TERM -- "-$server" 2>/dev/null || true
  status=0
  wait $server || status=$?
  [ $status -ne 0 ] && { [ $status -lt 128 ] || [ $status -eq 143 ]; } || fail "$*: the server ends with $status"
  echo "ok: $* is refused: $(grep -iE "unable|couldn't|can't|fail|not support" "$run/client.out" | tail -n 1)"
}

works ib_write_bw
works ib_write_bw -a -n 100
works ib_write_bw -q 4 -x 3 --ipv6 --report_gbits
works ib_write_bw -b
works ib_write_bw -D 5
works ib_write_bw -I 0
works ib_write_bw -m 1024
works ib_write_bw -s 8388608 -n 100
works ib_write_lat
LD_BIND_NOW=1 works ib_write_bw
works ib_write_bw -W counters/port_xmit_data,hw_counters/sent_pkts
for counter in counters/port_xmit_data hw_counters/sent_pkts; do
  grep -qE "$counter=[1-9]" "$run/client.out" || fail "$counter stands still"
done
refused ib_read_bw
refused ib_atomic_bw
refused ib_write_bw -R
refused ib_send_bw
