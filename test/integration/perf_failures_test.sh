#!/bin/bash
# Runs that cannot succeed: both ends say so, in words, in JSON and by their status, within seconds.
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"

limit=25  # status 124 if it hangs
ends_with() {  # STATUS PROCESS
  local status=0
  wait "$2" || status=$?
  [ $status -eq "$1" ] || fail "status $status instead of $1"
}
says() {  # client|server TEXT
  grep -aq "^FAIL: .*$2" "$run/$1.out" || fail "$1 does not say \"$2\""
  [ "$(get "$1" /status)" = error ] || fail "$1's JSON file does not report the failure"
  get "$1" /error | grep -q "$2" || fail "$1's JSON file does not say \"$2\""
  echo "ok: $1 says \"$2\""
}

echo '== the ends disagree'
start server --qps 2; server=$started
start client --qps 3; client=$started
ends_with 1 "$client"; says client 'disagree on --qps'
ends_with 1 "$server"; says server 'disagree on --qps'

echo '== nobody there'
start client --connect-timeout 0.5; client=$started
ends_with 1 "$client"; says client 'no server'

echo '== one end cannot open its device'
start server; server=$started
client_config=$run/broken.yaml
{ cat "$CONFIG/memif-b.yaml"; echo 'nonsense: 1'; } >"$client_config"
start client; client=$started
ends_with 1 "$client"; says client nonsense
ends_with 1 "$server"; says server nonsense
client_config=$CONFIG/memif-b.yaml

echo '== the client is interrupted'
tcp_port=$((tcp_port + 1))
start server; server=$started
start client --seconds 60; client=$started
sleep 3
# timeout(1) hands the signal on.
kill -INT "$client"
ends_with 130 "$client"; says client interrupted
ends_with 1 "$server"; says server interrupted

echo '== the server freezes'
tcp_port=$((tcp_port + 1))
start server; server=$started
start client --mode lat --seconds 60 --peer-timeout 2; client=$started
sleep 3
kill -STOP -- "-$server"
ends_with 1 "$client"; says client 'stopped answering'
kill -CONT -- "-$server"
ends_with 1 "$server"; says server 'peer: \|closed'
