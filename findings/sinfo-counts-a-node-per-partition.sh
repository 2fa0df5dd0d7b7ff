#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `sinfo -N -h -o %N` of Slurm 22.05.8, the names of nodes alone, in a cluster of four nodes with a second partition over all
# and a third over two of them. Expected: four lines, as `sinfo -h -o %D` counts four. Seen: ten, one for each node and
# partition, though no partition is printed: a loop over them works on nodes two or three times, and `wc -l` counts ten nodes.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/slurm.sh"
controller
lines() { sinfo -N -h -o %N "$@" | paste -sd' '; }
one=$(lines)
scontrol create PartitionName=long Nodes=n[1-4]
scontrol create PartitionName=debug Nodes=n[1-2]
three=$(lines)
echo "with one partition:    $one"
echo "with three partitions: $three"
echo "sinfo -o %D counts $(sinfo -h -o %D), sinfo -o %N has $(sinfo -h -o %N)"
[ "$one" = "n1 n2 n3 n4" ] || changed "one partition has other nodes"
[ "$three" = "n1 n1 n1 n2 n2 n2 n3 n3 n4 n4" ] || changed "a node has another number of lines"
[ "$(sinfo -h -o %D)" = 4 ] || changed "sinfo -o %D counts $(sinfo -h -o %D)"
[ "$(lines -p long)" = "n1 n2 n3 n4" ] || changed "one partition of three has other nodes"
echo "as described"
