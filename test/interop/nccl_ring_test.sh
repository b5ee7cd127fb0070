#!/bin/bash
# An exchange as NCCL does it (test/integration/nccl_ring.c) between four processes in a ring under
# mrc-run. As a host with two NICs each has two devices, one per neighbour; two memif planes join them
# to the neighbour's.
# Expects MRC_RUN, NCCL_RING, LIBMRC and CONFIG in the environment.
set -euo pipefail
. "$(dirname "$0")/../integration/perf_lib.sh"
unset LD_LIBRARY_PATH  # meson's, of the build directory
ranks=4

# node RANK left|right EDGE: a node file. Edge N joins rank N's right with the next one's left, which
# is the memif client.
node() {
  local rank=$1 side=$2 edge=$3 here=a there=b role=server first=0
  [ "$side" = right ] || { here=b there=a role=client first=2; }
  cat >"$run/$rank-$side.yaml" <<NODE
# Process $rank, its neighbour to the $side.
name: mrc-$side
gids: ["fd00:0:$edge:$here::1"]
mtu: 9000
state_directory: "$run/state-$rank-$side"
planes: 2
plane_defaults:
  device: "net_memif$first{port},role=$role,id={port},rsize=10,bsize=4608,socket=$run/edge-$edge-{port}.sock,socket-abstract=no"
  mac: "02:00:00:0$edge:0$here:0{port}"
  gateway_mac: "02:00:00:0$edge:0$there:0{port}"
  rate_mbps: 100000
ev:
  encoding: ecmp
  count: 64
transport:
  path_mtu: 4096
NODE
}

for ((rank = 0; rank < ranks; ++rank)); do
  node $rank right $rank
  node $rank left $(((rank + ranks - 1) % ranks))
  timeout --kill-after=5 "$limit" "$MRC_RUN" --config "$run/$rank-left.yaml" --config "$run/$rank-right.yaml" \
    -- "$NCCL_RING" "$LIBMRC" $rank $ranks $tcp_port >"$run/$rank.out" 2>&1 &
  processes+=("$!")
done
for ((rank = 0; rank < ranks; ++rank)); do
  wait "${processes[rank]}" || fail "process $rank ends with $?"
  grep -qx verified "$run/$rank.out" || fail "process $rank has verified nothing"
done
cat "$run/0.out"
