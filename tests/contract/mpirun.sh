#!/bin/sh
# mpirun.sh RANKS PROGRAM: runs it under mpirun, also as root, also with more ranks than cores, also
# in a container. Skips (77) where there is no mpirun.
if ! command -v mpirun >/dev/null; then
  echo "skipped: there is no mpirun here (apt-get install openmpi-bin)"
  exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# What Open MPI leaks is not ours.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# Copies from process to process, which containers forbid, and network cards are not needed.
exec mpirun --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none \
  --mca btl self,vader -n "$1" "$2"
