#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scontrol of Slurm 22.05 on a list with a blank behind a comma, n[1, 3]. Expected: n1 and n3, as without the blank, or
# an error. Seen: n1 and n03. A blank between whole names, "n1, n3", changes nothing.
. "$(dirname "$0")/lib/slurm.sh"
# Compare the names of a list with those expected.
names() {
    local seen
    seen=$(scontrol show hostnames "$1" 2>&1 | xargs)
    echo "$1: $seen"
    [ "$seen" = "$2" ] || changed "no longer $2"
}
names "n[1,3]" "n1 n3"
names "n1, n3" "n1 n3"
names "n[1, 3]" "n1 n03"
names "n[1-2, 9-10]" "n1 n2 n09 n10"
echo "as described"
