#!/bin/bash
# The peer is killed in the middle of a transfer; the survivor sees what it should (peer_death.c) and
# serves the next peer on the same port. Each side survives once. Expects MRC_RUN and PEER_DEATH in the
# environment, and
#   CONFIG                 node files of two sides joined by memif; or
#   NODE_A NODE_B          other node files, of devices mrc-a and mrc-b,
#   HOST_A HOST_B          the sides' IPv4 addresses,
#   INSIDE_A INSIDE_B      the namespaces they are in,
#   KILLS                  how often (1).
set -euo pipefail
. "$(dirname "$0")/perf_lib.sh"
limit=90
declare -A node=([a]=${NODE_A:-$server_config} [b]=${NODE_B:-$client_config})
declare -A host=([a]=${HOST_A:-127.0.0.1} [b]=${HOST_B:-127.0.0.1})
declare -A namespace=([a]=${INSIDE_A:-} [b]=${INSIDE_B:-})

side() {  # a|b OUTPUT ARGUMENT...
  local side=$1 output=$2
  shift 2
  inside=(${namespace[$side]:+ip netns exec "${namespace[$side]}"})
  under_mrc_run "${node[$side]}" "$output" "$PEER_DEATH" "mrc-$side" $tcp_port "$@"
}

dies() {  # SURVIVOR PEER
  local survivor first i
  tcp_port=$((tcp_port + 1))
  rm -f "$run"/*.out
  side "$1" survivor
  survivor=$started
  side "$2" first "${host[$1]}"
  first=$started
  for ((i = 0; i < 300; ++i)); do
    ! grep -q 'in the middle' "$run/survivor.out" && kill -0 "$survivor" 2>/dev/null || break
    sleep 0.1
  done
  sleep 0.$((RANDOM % 10))
  # The shell would tell of it.
  disown "$first"
  kill -KILL -- "-$first"
  side "$2" next "${host[$1]}"
  wait "$started" || fail "the next peer ends with $?"
  wait "$survivor" || fail "the survivor ends with $?"
  processes=()
  grep -v 'in the middle' "$run/survivor.out"
}

for ((kill = 0; kill < ${KILLS:-1}; ++kill)); do
  echo '== b dies'
  dies a b
  echo '== a dies'
  dies b a
done
