#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ibnetdiscover of infiniband-diags 44 on hosts with two adapters. Expected: mlx5_0 before mlx5_1, as they are cabled.
# Seen: adapters stand in reverse order of discovery, so that mlx5_1 of each host comes first. Who takes the first
# adapter of a host from this file takes its last one.
. "$(dirname "$0")/lib/infiniband.sh"
fabric 2 > net
simulate net
opensm_once
sim ibnetdiscover > net.txt
ibnetdiscover --version 2>&1 | head -1 || true
grep "^Ca" net.txt | grep -o '"cn.*"' | tee order.txt
[ "$(wc -l < order.txt)" = 8 ] || changed "not all eight adapters are there"
for host in cn1 cn2 cn3 cn4; do
    first=$(grep "$host " order.txt | head -1)
    [ "$first" = "\"$host mlx5_1\"" ] || changed "$host begins with $first"
done
echo "as described"
