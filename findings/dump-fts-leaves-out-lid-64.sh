#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dump_fts and ibroute of infiniband-diags 44 on two switches with 62 hosts, which are 64 LIDs. Expected: a table has a line
# for every LID. Seen: the last one is in no table, though the head of each says "[0x0-0x40]"; standard error is empty, the
# exit status 0. The switches have it: OpenSM's own dump names the port, and ibtracert arrives. So it is whenever the highest
# LID is a multiple of 64.
. "$(dirname "$0")/lib/infiniband.sh"
# Print two switches with a cable between them and hosts at both; the argument is the number of hosts.
hosts_at_two_switches() {
    local switch host
    for switch in 0 1; do
        printf 'Switch\t36 "S-0000000000000a0%s"\t\t# "leaf%s"\n' $switch $switch
        for host in $(seq $((switch + 1)) 2 "$1"); do
            printf '[%d]\t"H-0000000000000%x01"[1]\n' $(((host + 1) / 2)) "$host"
        done
        printf '[36]\t"S-0000000000000a0%s"[36]\n\n' $((1 - switch))
    done
    for host in $(seq "$1"); do
        printf 'Ca\t1 "H-0000000000000%x01"\t\t# "cn%02d mlx5_0"\n' "$host" "$host"
        printf '[1]\t"S-0000000000000a0%s"[%d]\n\n' $(((host + 1) % 2)) $(((host + 1) / 2))
    done
}
hosts_at_two_switches 62 > net
simulate net
opensm_once
sim dump_fts > tables.txt 2> tables.err && status=0 || status=$?
leaf=$(sim ibswitches | sed -n 's/.*"leaf0".* lid \([0-9]*\) .*/\1/p')
sim ibroute "$leaf" > route.txt
sim ibtracert 1 64 > trace.txt
ibnetdiscover --version 2>&1 | head -1 || true
lines_of() { grep -c "^$2 " "$1" || true; }
echo "exit status $status, $(wc -c < tables.err) bytes on standard error; both tables: $(grep -o '\[0x.*\]' tables.txt | xargs)"
for lid in 0x003f 0x0040; do
    echo "lines for LID $lid: dump_fts $(lines_of tables.txt $lid), ibroute of leaf0 $(lines_of route.txt $lid)," \
        "OpenSM $(lines_of opensm-lfts.dump $lid)"
done
cat trace.txt
[ "$status" = 0 ] && [ ! -s tables.err ] || changed "dump_fts says something"
[ "$(lines_of tables.txt 0x003f) $(lines_of tables.txt 0x0040)" = "2 0" ] || changed "dump_fts has other lines"
[ "$(lines_of route.txt 0x003f) $(lines_of route.txt 0x0040)" = "1 0" ] || changed "ibroute has other lines"
[ "$(lines_of opensm-lfts.dump 0x0040)" = 2 ] || changed "OpenSM's dump does not have LID 64"
grep -q '^To ca .* lid 64-64 "cn62 mlx5_0"' trace.txt || changed "ibtracert does not arrive at LID 64"
echo "as described"
