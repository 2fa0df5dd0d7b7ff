#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The node name map of infiniband-diags 44, with GUIDs as ibnetdiscover prints them behind "S-", 16 digits without 0x. Expected:
# these nodes get their names, or an error. Seen: they keep their old names, without a word: a number that begins with 0 is
# read as octal and one that begins with another digit as decimal, so that 0000000000200003 names 0x10003.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once
ibnetdiscover --version | head -1 || true
sim ibnetdiscover | sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*"\(spine.\)".*/\1 \2/p' | sort > printed
cat printed
sed 's/\([0-9a-f]*\) spine\(.\)/\1 "Spine \2"/' printed > map
sed 's/^/0x/' map > map-0x
# Print the names that the spines have with a map; messages end in the file of that name.
names() {
    sim ibnetdiscover --node-name-map "$1" 2> messages | sed -n 's/^Switch.*# "\([Ss]pine[^"]*\)".*/\1/p' | sort -f | paste -sd,
}
plain=$(names map)
echo "map as printed: $plain; messages: $(wc -l < messages)"
[ "$plain" = spine1,spine2 ] || changed "the names are $plain"
[ ! -s messages ] || changed "there is a message: $(cat messages)"
prefixed=$(names map-0x)
echo "with 0x before each: $prefixed"
[ "$prefixed" = "Spine 1,Spine 2" ] || changed "with 0x the names are $prefixed"
# 0x200002 in octal, with a leading 0: a valid GUID of something else, which gets the name of this switch.
echo '010000002 "Spine 1"' > octal
seen=$(names octal)
echo "010000002, octal for 0x200002: $seen"
[ "$seen" = "Spine 1,spine2" ] || changed "it does not name 0x200002"
echo "as described"
