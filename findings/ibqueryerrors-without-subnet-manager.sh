#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ibqueryerrors of infiniband-diags 44 on a fabric with errors at one port. With a subnet manager it lists the port and
# ends with status 1. Expected where the subnet manager has ended, its routes still in place: the same, or a failure.
# Seen: no port, no summary, exit status 0, as if all were well; one line on standard error.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 1 > net
simulate net
opensm_once -R minhop || { echo "opensm fails"; exit 2; }
(SIM_HOST=H-0000000000000104 LD_PRELOAD=$library exec timeout 100 opensm -D 0x43 -f master.log > master.out 2>&1) &
manager=$!
for _ in $(seq 100); do grep -q "SUBNET UP" master.log master.out 2>/dev/null && break; sleep 0.2; done
command_of_fabric 'PerformanceSet "S-0000000000000a02"[1] PortCounters.SymbolErrorCounter=200'
sim ibqueryerrors > with.txt 2> with.err && with=0 || with=$?
kill "$manager" && wait "$manager" 2>/dev/null || true
sim ibqueryerrors > without.txt 2> without.err && without=0 || without=$?
echo "infiniband-diags 44, with a subnet manager: exit status $with"
cat with.txt
echo "without: exit status $without, $(grep -c . without.txt || true) lines; on standard error:"
cat without.err
grep -q "SymbolErrorCounter == 200" with.txt || changed "with a subnet manager the port is not listed"
[ "$with" = 1 ] || changed "with a subnet manager the exit status is $with"
[ ! -s without.txt ] || changed "without a subnet manager it prints something"
[ "$without" = 0 ] || changed "without a subnet manager the exit status is $without"
echo "as described"
