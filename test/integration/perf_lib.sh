# Shared by the tests that run mrc-perf, or other programs, in processes joined by memif. Sourced; expects
# CONFIG in the environment, and for mrc-perf PERF and JSON_GET (test/integration/meson.build).
#
# A run keeps everything (memif sockets, reports, captures, output) in a folder of its own, and takes
# its processes and the folder with it however it ends.

run=$(mktemp -d "${TMPDIR:-/tmp}/mrc-perf-test.XXXXXX")
export TMPDIR=$run  # where config/memif-*.yaml put their sockets
processes=()
cleanup() {
  local status=$?
  trap - EXIT
  # timeout(1) made each one's process group.
  for process in "${processes[@]}"; do kill -KILL -- "-$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  [ $status -eq 0 ] || tail -n 40 "$run"/*.out 2>/dev/null || true
  rm -rf "$run"
  exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { echo "FAILED: $*" >&2; exit 1; }
check() {  # TEXT EXPRESSION: shell arithmetic that has to be true
  if (($2)); then echo "ok: $1 ($2)"; else fail "$1 ($2)"; fi
}
get() { "$JSON_GET" "$run/$1.json" "${@:2}"; }  # client|server POINTER [VALUE]

server_config=$CONFIG/memif-a.yaml
client_config=$CONFIG/memif-b.yaml
limit=120        # seconds one end may take
tcp_port=$((20000 + $$ % 12000))  # below the ports the kernel gives away

# await_listener PROCESS: until somebody listens on $tcp_port, or the process has ended.
await_listener() {
  local i
  for ((i = 0; i < 100; ++i)); do
    ! grep -q ":$(printf '%04X' $tcp_port) .* 0A " /proc/net/tcp /proc/net/tcp6 &&
      kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
}

# start server|client OPTION...: in the background; its process in $started, its output in $run.
start() {
  local end=$1 config=$server_config
  shift
  [ "$end" = server ] || config=$client_config
  timeout --kill-after=5 "$limit" "$PERF" "$end" --config "$config" --tcp-port $tcp_port \
    --json "$run/$end.json" "$@" >"$run/$end.out" 2>&1 &
  started=$!
  processes+=("$started")
}

# under_mrc_run NODE OUTPUT COMMAND...: in the background; its process (timeout's, with a group of its
# own) in $started, its output in $run/OUTPUT.out.
inside=()  # what runs it elsewhere: ip netns exec NAME
under_mrc_run() {
  local node=$1 output=$2
  shift 2
  timeout --kill-after=5 "$limit" "${inside[@]}" "$MRC_RUN" --config "$node" -- "$@" \
    >"$run/$output.out" 2>&1 &
  started=$!
  processes+=("$started")
}

# Runs both ends, the one named first first, and expects both to succeed.
#   pair server|client [--server OPTION...] [--client OPTION...]
pair() {
  local first=$1 which='' server client
  local -a server_options=() client_options=()
  shift
  tcp_port=$((tcp_port + 1))  # the last run's may still be in TIME_WAIT
  for option in "$@"; do
    case $option in
      --server) which=server ;;
      --client) which=client ;;
      *) if [ "$which" = server ]; then server_options+=("$option"); else client_options+=("$option"); fi ;;
    esac
  done
  if [ "$first" = server ]; then
    start server "${server_options[@]}"; server=$started
    sleep 0.5
    start client "${client_options[@]}"; client=$started
  else
    start client "${client_options[@]}"; client=$started
    sleep 0.5
    start server "${server_options[@]}"; server=$started
  fi
  wait "$client" || fail "client: status $?"
  wait "$server" || fail "server: status $?"
  processes=()
  [ "$(get client /status)" = ok ] || fail 'the client reports a failure'
  [ "$(get server /status)" = ok ] || fail 'the server reports a failure'
  grep -a '^PASS' "$run/client.out"
}
