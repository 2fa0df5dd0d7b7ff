#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ibsim 0.10 on a file whose switches and adapters have the names "S-<GUID>" and "H-<GUID>", as ibnetdiscover prints them.
# Expected: the tools show these GUIDs. Seen: ibsim gives others, which it counts up, and its own commands take
# only the names of the file; a name that the tools show is "not found".
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once
sim ibnetdiscover > before.txt
shown=$(grep -o '"S-[0-9a-f]*".*"leaf1"' before.txt | grep -o 'S-[0-9a-f]*' | head -1)
echo "leaf1 is S-0000000000000a01 in the file, and $shown for ibnetdiscover"
[ "$shown" != S-0000000000000a01 ] || changed "the GUID of the file is kept"
command_of_fabric "Unlink \"$shown\"[11]"
sim ibnetdiscover > first.txt
command_of_fabric 'Unlink "S-0000000000000a01"[11]'
sim ibnetdiscover > second.txt
grep "not found" ibsim.out || changed "the name that ibnetdiscover prints is taken"
links() { grep -c '^\[' "$1"; }
echo "ports with a cable: $(links before.txt), $(links first.txt) after the first command, $(links second.txt) after the second"
[ "$(links before.txt)" = "$(links first.txt)" ] || changed "the shown name cuts the cable"
[ "$(links second.txt)" -lt "$(links first.txt)" ] || changed "the name of the file does not cut the cable"
echo "as described"
