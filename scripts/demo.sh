#!/bin/sh
# What this machine can do, shown in under a minute. usage: scripts/demo.sh SHOAL
set -eu
shoal=$1

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

say "1. What this machine is, what it can do, and what its owner should know"
echo "\$ shoal doctor"
"$shoal" doctor

say "2. Our matrix multiplication beside OpenBLAS and oneDNN (a ratio above 1: ours is faster)"
echo "\$ shoal bench gemm --quick"
"$shoal" bench gemm --quick

say "3. Fifty phones in one thread: they crash, hang and lose their network, and all come back"
echo "\$ shoal sim --nodes 50 --seed 42 --random-faults --seconds 30"
"$shoal" sim --nodes 50 --seed 42 --random-faults --seconds 30

say "The trace hash above is the same on every machine and compiler; run it again and compare."
