#!/bin/sh
# libcxx_headers.sh DIR: unpacks the headers of Debian's libc++ into DIR, once, without
# installing them: libc++-dev would displace libunwind-dev, which other packages need.
# Prints nothing unless it fails.
set -eu
dir=$1
[ ! -e "$dir/complete" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
# apt says that it downloads as root when it does; only failures are of interest.
apt-get download libc++-14-dev libc++abi-14-dev >apt.log 2>&1 || { cat apt.log >&2; exit 1; }
for package in ./*.deb; do dpkg-deb -x "$package" .; done
touch complete
