# Shared by the tests that run stock perftest under mrc-run, over four memif planes with SRv6. Sourced;
# expects MRC_RUN and CONFIG in the environment.
command -v ib_write_bw >/dev/null || { echo 'skipped: perftest is not installed'; exit 77; }
. "$(dirname "$0")/../integration/perf_lib.sh"

# serve SECONDS TOOL OPTION...: the server, in $server, once it listens or has ended.
serve() {
  local seconds=$1
  shift
  tcp_port=$((tcp_port + 1))
  timeout --kill-after=5 "$seconds" "$MRC_RUN" --config "$server_config" -- "$@" -p $tcp_port \
    >"$run/server.out" 2>&1 &
  server=$!
  processes+=("$server")
  await_listener $server
}

# connect SECONDS TOOL OPTION...
connect() {
  local seconds=$1
  shift
  timeout --kill-after=5 "$seconds" "$MRC_RUN" --config "$client_config" -- "$@" -p $tcp_port \
    127.0.0.1 >"$run/client.out" 2>&1
}

works() {
  serve 100 "$@"
  connect 90 "$@" || fail "$*: the client ends with $?"
  wait $server || fail "$*: the server ends with $?"
  echo "ok: $*:$(grep -E '^ *[0-9]+ +[0-9]+ ' "$run/client.out" | tail -n 1)"
}
