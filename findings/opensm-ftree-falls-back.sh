#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# OpenSM 3.3.23, `-R ftree`, on a fat tree of which one cable is missing. Expected: fat-tree routing round the cable, or a
# failure. Seen: it routes by minhop, exits with status 0, and only its log says so. With all cables the same command
# configures ftree.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once -R ftree || changed "opensm fails on a whole fat tree"
grep -o "OpenSM [0-9.]*" opensm.out opensm.log | head -1 || true
grep -E "tables configured" opensm.log | sed 's/.*-> //' | tail -1 | tee whole.txt
command_of_fabric 'Unlink "S-0000000000000a01"[11]'
rm opensm.log
opensm_once -R ftree || changed "opensm fails without the cable"
grep -E "not a fat-tree|tables configured" opensm.log | sed 's/.*-> //' | tail -2 | tee cut.txt
grep -q "ftree tables configured" whole.txt || changed "a whole fat tree is not routed by ftree"
grep -q "minhop tables configured" cut.txt || changed "a fat tree without a cable is not routed by minhop"
echo "as described"
