# Sourced by the scripts beside it: where the tree is, and how the packages it needs get installed.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# need_packages CLASS...: installs what scripts/packages.txt lists under these classes and is not
# there yet. Asks the network for nothing when all are there.
need_packages() {
  local class missing=() package sudo=()
  for class in "$@"; do
    while read -r package; do
      [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
        missing+=("$package")
    done < <(awk -v class="$class" '$1 == class { print $2 }' "$root/scripts/packages.txt")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    die "this is not Debian; install the equivalents of: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "as root, run: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${sudo[@]}" apt-get -qq -o Acquire::Retries=3 update || die 'apt-get update failed'
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 --no-install-recommends \
    install "${missing[@]}" >/dev/null </dev/null || die "cannot install: ${missing[*]}"
}

# instructions COMMAND...: how many it takes, as callgrind counts them; what it prints is dropped.
instructions() {
  local folder status=0
  folder=$(mktemp -d)
  valgrind --tool=callgrind --callgrind-out-file="$folder/out" "$@" 2>"$folder/log" >/dev/null || status=$?
  if [ $status -eq 0 ]; then
    awk '/Collected/ { print $NF }' "$folder/log"
  else
    cat "$folder/log" >&2
  fi
  rm -rf "$folder"
  return $status
}

# configure DIRECTORY OPTION...: sets a build directory up, or changes one that is there. Quiet unless
# it fails.
configure() {
  local directory=$1 output
  shift
  if [ -f "$directory/build.ninja" ]; then
    output=$(meson configure "$directory" "$@" 2>&1)
  else
    output=$(meson setup "$directory" "$root" "$@" 2>&1)
  fi || { printf '%s\n' "$output"; return 1; }
}
