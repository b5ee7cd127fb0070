#!/bin/bash
# The program of doc/tutorial.md, as it says: two processes under mrc-run, four memif planes between
# them. And what it says when something is wrong: the call, or the device, that failed.
# Expects MRC_RUN, WRITE_IMM and CONFIG in the environment.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

limit=60
says() {  # OUTPUT LINE
  grep -qxF "$2" "$run/$1.out" || fail "$1 does not say '$2'"
}
refused() {  # LINE COMMAND...
  local line=$1 status=0
  shift
  timeout 30 "$@" >"$run/refused.out" 2>&1 || status=$?
  [ $status -eq 1 ] || fail "$*: status $status"
  says refused "$line"
}

under_mrc_run "$server_config" server "$WRITE_IMM" mrc-a $tcp_port
server=$started
await_listener "$server"
under_mrc_run "$client_config" client "$WRITE_IMM" mrc-b $tcp_port 127.0.0.1
wait "$started" || fail "the writing side ends with $?"
wait "$server" || fail "the receiving side ends with $?"
processes=()
says client 'wrote 22 bytes'
says server 'received 22 bytes, immediate 7: hello over many paths'

# A port where nobody listens.
refused 'write_imm: connect: Connection refused' \
  "$MRC_RUN" --config "$client_config" -- "$WRITE_IMM" mrc-b $((tcp_port + 1)) 127.0.0.1
refused 'write_imm: mrc-x: No such device' \
  "$MRC_RUN" --config "$server_config" -- "$WRITE_IMM" mrc-x $tcp_port

# The peer is gone before a word was said.
tcp_port=$((tcp_port + 2))
under_mrc_run "$server_config" left "$WRITE_IMM" mrc-a $tcp_port
server=$started
await_listener "$server"
: >/dev/tcp/127.0.0.1/$tcp_port
status=0
wait "$server" || status=$?
[ $status -eq 1 ] || fail "left alone, the receiving side ends with $status"
says left 'write_imm: recv: Connection reset by peer'
