#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hwloc-calc of hwloc 2.9.0 with physical numbers (-p) on two packages of four cores, whose cores Linux counts from 0 in each
# package, as on Intel's servers. Expected: the cores that it prints can be given to it again; a number that two cores have
# names both, or is an error. Seen: "core:0-3" is the first package alone, no warning, exit status 0: half of the node is idle.
# What it prints itself, 0,1,2,3,0,1,2,3, it cannot read: an empty set, exit status 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download hwloc-nox=2.9.0-1 libhwloc15=2.9.0-1 libudev1 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu PATH=$folder/root/usr/bin:$PATH
changed() { echo "CHANGED: $1"; exit 1; }
hwloc-calc --version
lstopo-no-graphics -i "pack:2 core:4 pu:1" --of xml counted.xml 2> /dev/null || { echo "cannot make a topology"; exit 2; }
# The cores of the second package are numbered from 0 again: core_id of /sys/devices/system/cpu is unique in a package only.
for core in 4 5 6 7; do sed -i "s/type=\"Core\" os_index=\"$core\"/type=\"Core\" os_index=\"$((core - 4))\"/" counted.xml; done
# Print what hwloc-calc answers for its arguments, without its messages, which end in the file "messages".
calc() { hwloc-calc -i counted.xml "$@" 2> messages; }
numbers=$(calc -p -I core all)
echo "cores of the node: $numbers"
[ "$numbers" = 0,1,2,3,0,1,2,3 ] || changed "the numbers are others"
set=$(calc -p core:0-3)
echo "core:0-3 is $set, of the node's $(calc all)"
[ "$set" = 0x0000000f ] || changed "core:0-3 is another set"
[ ! -s messages ] || changed "there is a warning: $(cat messages)"
set=$(calc -p "core:$numbers") || changed "its own numbers are an error"
echo "core:$numbers is $set; $(tail -1 messages)"
[ "$set" = 0x0 ] || changed "it reads its own numbers"
set=$(calc -p package:0-1.core:0-3)
echo "package:0-1.core:0-3 is $set"
[ "$set" = 0x000000ff ] || changed "packages and cores are another set"
echo "as described"
