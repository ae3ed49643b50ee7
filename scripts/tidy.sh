#!/bin/sh
# clang-tidy over every source that BUILD_DIR compiles. usage: scripts/tidy.sh BUILD_DIR [FILE...]
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- $(sed -n 's/.*"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" |
  grep -E "^$PWD/(src|apps|bench)/" | grep -v '_test\.cc$' | sort -u)
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet
echo "tidy: ok"
