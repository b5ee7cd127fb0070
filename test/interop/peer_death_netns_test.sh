#!/bin/bash
# test/integration/peer_death_test.sh between two network namespaces, over af_packet ports on two veth
# cables. Needs root (skipped without). Expects CONFIG, MRC_RUN and PEER_DEATH in the environment.
set -euo pipefail
. "$(dirname "$0")/netns_pair.sh"

make_pair 2
NODE_A=$log/a.yaml NODE_B=$log/b.yaml HOST_A=$host_a HOST_B=$host_b INSIDE_A=$run-a INSIDE_B=$run-b \
  "$(dirname "$0")/../integration/peer_death_test.sh" &
wait $!
