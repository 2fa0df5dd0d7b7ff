#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dump_fts of infiniband-diags 44, while one switch does not answer the query for its forwarding table. Expected: this
# switch is left out, or its table is marked, and the exit status is not 0. Seen: it has a table of the usual form, in
# which every LID leaves by port 0, LID 0 included. Only standard error names it; the exit status is 0.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once
table_of_leaf1() { sed -n '/(leaf1):$/,/lids dumped/p' "$1"; }
sim dump_fts > before.txt
# All answers to queries of attribute 0x19 (25), the forwarding table, get lost.
command_of_fabric 'Error "S-0000000000000a01" 100 25'
sim dump_fts > after.txt 2> after.err && status=0 || status=$?
ibnetdiscover --version 2>&1 | head -1 || true
echo "--- leaf1 as it is"; table_of_leaf1 before.txt
echo "--- leaf1 while it does not answer: exit status $status"; table_of_leaf1 after.txt
echo "--- standard error"; cat after.err
grep -q "LFT.* failed on switch 'leaf1'" after.err || changed "standard error does not name the switch"
[ "$status" = 0 ] || changed "the exit status is $status"
ports() { table_of_leaf1 "$1" | grep -o '^0x[0-9a-f]* [0-9]*' | cut -d' ' -f2 | sort -u | xargs; }
[ "$(ports before.txt)" = "000 001 003 011 012" ] || changed "leaf1 has the ports $(ports before.txt) while it answers"
[ "$(ports after.txt)" = 000 ] || changed "leaf1 has the ports '$(ports after.txt)' while it does not answer"
table_of_leaf1 after.txt | grep -q "9 valid lids dumped" || changed "the table does not call nine LIDs valid"
echo "as described"
