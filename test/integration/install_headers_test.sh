#!/bin/bash
# What a user of the installed package has: installs into a temporary prefix, compiles the sample
# What a user of the installed package has: installs into a temporary prefix, compiles the sample
# programs from the files of that prefix alone, and runs the two sides of one under that prefix's
# mrc-run, each with a node of its own, four planes between them. Once with each side started first. A
# program that links none of it finds all by dlopen. And the library's other names, and its man pages.
# Usage: install_headers_test.sh BUILD_DIRECTORY SOURCE_DIRECTORY
set -u
unset LD_LIBRARY_PATH  # meson's, of the build directory
build=$1
source=$2
sizes=1,8,4K,64K,1M,64M
patience=60  # seconds that a side waits for the other
work=$(mktemp -d) || exit 1
children=()
cleanup() {
  for child in "${children[@]}"; do kill "$child" 2>/dev/null; done
  wait
  rm -rf "$work"
}
trap cleanup EXIT

give_up() {
  echo "$*"
  exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$work/root" >"$work/install" 2>&1 ||
  give_up "meson install: $(cat "$work/install")"
mrc_run=$(find "$work/root" -type f -name mrc-run)
package=$(find "$work/root" -name libmrc.pc)
[ -x "$mrc_run" ] || give_up 'no mrc-run was installed'
[ -n "$package" ] || give_up 'no libmrc.pc was installed'
prefix=$(dirname "$(dirname "$mrc_run")")

# The prefix of the package file is where the package is meant to lie; here it lies elsewhere.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$package")
flags() { pkg-config --define-variable=prefix="$prefix" "$@" libmrc; }
flags --exists || give_up 'pkg-config does not know libmrc'
read -ra cflags < <(flags --cflags)
read -ra libs < <(flags --libs)
libdir=$(flags --variable=libdir)
compile() { ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Werror "${cflags[@]}" "$@"; }
compile -o "$work/bench" "$source/test/integration/rdma_write_bench.c" "${libs[@]}" -libverbs \
  -Wl,-rpath,"$libdir" || give_up 'the sample program does not compile'
grep -q "$work/root" <(ldd "$work/bench") || give_up "$work/bench does not use the installed library"

compile -o "$work/dlopen_verbs" "$source/test/unit/interposer/dlopen_verbs.c" ||
  give_up 'the program that links nothing does not compile'
for name in libmrc.so.1 libnv_mrc.so; do
  "$mrc_run" --config "$source/config/loopback-a.yaml" -- "$work/dlopen_verbs" mrc-a "$libdir/$name" ||
    give_up "$name by its absolute path: exit status $?"
done

# As the tutorial says: nothing but what pkg-config gives.
${CC:-cc} -Wall -Wextra -Werror -o "$work/write_imm" "$source/doc/examples/write_imm.c" \
  "${cflags[@]}" "${libs[@]}" || give_up "the tutorial's program does not compile"
for alias in libmrc.so libnv_mrc.so lib_mrc.so; do
  [ "$(readlink -f "$libdir/$alias")" = "$(readlink -f "$libdir/libmrc.so.1")" ] ||
    give_up "$alias is not installed, or is not libmrc.so.1"
done
man3=$prefix/share/man/man3
for name in $(sed -n 's/^ *\(mrc_[a-z_]*\);$/\1/p' "$source/drivers/libmrc/libmrc.map"); do
  [ -f "$man3/$name.3" ] || give_up "no man page of $name was installed"
done
for page in man1/mrc-run.1 man1/mrc-pmd.1 man7/mrc.7 man7/mrc_ctl.7; do
  [ -f "$prefix/share/man/$page" ] || give_up "$page was not installed"
done

# The sockets of the planes lie in TMPDIR (config/memif-a.yaml): another run has others.
export TMPDIR=$work

# side NODE ARGUMENT...: in the background, with its output in a file of the node's name
side() {
  local node=$1 file=$source/config/$1.yaml device
  device=$(awk '$1 == "name:" { print $2 }' "$file")
  shift
  timeout $((patience * 3)) "$mrc_run" --config "$file" -- "$work/bench" --device "$device" \
    --sizes "$sizes" --timeout "$patience" --port "$port" "$@" >"$work/$node" 2>&1 &
  last=$!
  children+=("$last")
}

failures=0
# finish NAME PID NODE
finish() {
  wait "$2"
  local status=$?
  [ "$status" -eq 0 ] || failures=$((failures + 1))
  echo "$1 ($3): exit status $status"
  sed 's/^/  /' "$work/$3"
}

# TCP ports below the range that the kernel hands out, unlikely to be somebody's.
port=$((20000 + $$ % 5000))
for first in server client; do
  echo "== $first first =="
  if [ "$first" = server ]; then
    side memif-a server
    server=$last
    sleep 1
    side memif-b client 127.0.0.1
    client=$last
  else
    side memif-b client 127.0.0.1
    client=$last
    sleep 1
    side memif-a server
    server=$last
  fi
  finish server "$server" memif-a
  finish client "$client" memif-b
  children=()
  port=$((port + 1))
done
exit $((failures > 0))
