#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scontrol of Slurm 22.05 on host names with something behind the number (n1-ib0), folded by nodeset of ClusterShell
# 1.9.3. Expected: the names again; or, if Slurm does not know this form, an exit status other than 0. Seen: "Invalid
# hostlist" on standard error, no name on standard output, exit status 0: a loop over the names has no turn and no error.
# `scontrol show hostlist` ends with 1 on the same list.
. "$(dirname "$0")/lib/slurm.sh"
python3 -m venv venv && venv/bin/pip -q install "ClusterShell==1.9.3" >&2 || { echo "cannot install ClusterShell"; exit 2; }
venv/bin/nodeset --version
folded=$(venv/bin/nodeset -f n1-ib0,n2-ib0)
# Ask for something of a list: its answer is in out.txt and err.txt, its exit status in $status.
ask() {
    status=0
    scontrol show "$@" > out.txt 2> err.txt || status=$?
    echo "--- show $*: exit status $status"; cat out.txt err.txt
}
[ "$folded" = "n[1-2]-ib0" ] || changed "nodeset folds the names to $folded"
ask hostnames n1-ib0,n2-ib0
[ "$status" = 0 ] && [ "$(xargs < out.txt)" = "n1-ib0 n2-ib0" ] || changed "the names one by one are refused"
ask hostlist "$folded"
[ "$status" = 1 ] || changed "show hostlist ends with $status"
ask hostnames "$folded,n3"
grep -q "Invalid hostlist" err.txt || changed "show hostnames takes the folded names"
[ ! -s out.txt ] || changed "show hostnames prints some of the names"
[ "$status" = 0 ] || changed "show hostnames ends with $status"
echo "as described"
