#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hwloc-bind of hwloc 2.9.0 on processors of which one does not exist, `pu:0 pu:99999`. Expected: an error, as of numactl;
# with `--strict` at the latest. Seen: the program runs on what there is of them, exit status 0. hwloc-calc ends with 0 as well
# where it knows nothing of what it was given, and then prints an empty set, 0x0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download hwloc-nox=2.9.0-1 libhwloc15=2.9.0-1 numactl=2.0.16-1 libnuma1=2.0.16-1 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export PATH=$folder/root/usr/bin:$PATH LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu
changed() { echo "CHANGED: $1"; exit 1; }
hwloc-bind --version || { echo "cannot run hwloc"; exit 2; }
# ask COMMAND...: its answer is in $seen, its standard error in err.txt, its exit status in $status.
ask() {
    status=0
    seen=$(timeout 20 "$@" 2> err.txt | sed 's/.*:[[:space:]]*//') || status=$?
    echo "$*: '$seen', exit status $status, $(grep -c . err.txt || true) lines on standard error"
}
first=$(grep -o '[0-9]*' <(grep Cpus_allowed_list /proc/self/status) | head -1)
list="grep Cpus_allowed_list /proc/self/status"
ask numactl "--physcpubind=$first,99999" $list
[ "$status" = 1 ] || changed "numactl runs the program"
ask hwloc-bind --physical "pu:$first" -- $list
[ "$seen" = "$first" ] || { echo "cannot bind here"; exit 2; }
ask hwloc-bind --strict --physical "pu:$first" pu:99999 -- $list
[ "$seen" = "$first" ] && [ "$status" = 0 ] || changed "hwloc-bind does not run the program on the rest"
grep -q "does not exist" err.txt || changed "standard error does not name what is missing"
for location in core:99 cores:0 os=mlx5_0; do
    ask hwloc-calc -i "pack:2 numa:2 core:4 pu:2" $location
    [ "$seen" = 0x0 ] && [ "$status" = 0 ] || changed "hwloc-calc no longer takes $location for an empty set"
done
ask hwloc-calc -i "pack:2 numa:2 core:4 pu:2" --number-of core core:12-19
[ "$seen" = 4 ] && [ "$status" = 0 ] || changed "hwloc-calc no longer takes the four cores that exist of eight"
echo "as described"
