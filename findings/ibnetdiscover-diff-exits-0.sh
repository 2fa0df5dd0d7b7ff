#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `ibnetdiscover --diff` of infiniband-diags 44, after one cable of the fabric that was cached is gone. Expected: exit
# status 1, as of diff. Seen: it lists the cable from both ends and ends with status 0; so does `iblinkinfo --diff`.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once -R minhop || { echo "opensm fails"; exit 2; }
sim ibnetdiscover --cache cabling > /dev/null
sim ibnetdiscover --diff cabling > same.txt 2> same.err && same=0 || same=$?
command_of_fabric 'Unlink "S-0000000000000a01"[11]'
sim ibnetdiscover --diff cabling > cut.txt 2> cut.err && cut=0 || cut=$?
sim iblinkinfo --diff cabling > links.txt 2> links.err && links=0 || links=$?
echo "infiniband-diags 44: exit status $same and $(grep -c . same.txt || true) lines of the same fabric;"
echo "without a cable $cut, and $links of iblinkinfo:"
grep '^[<>]' cut.txt links.txt
[ "$same" = 0 ] && [ ! -s same.txt ] || changed "the same fabric differs"
grep -q '^< .*leaf1' cut.txt || changed "the cable is not listed"
[ "$cut" = 0 ] && [ "$links" = 0 ] || changed "a difference has another exit status"
echo "as described"
