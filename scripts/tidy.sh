#!/bin/sh
# clang-tidy over every source of ours. usage: scripts/tidy.sh BUILD_DIR [FILE...]
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- $(find src apps bench -name '*.cc' ! -name '*_test.cc')
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet
echo "tidy: ok"
