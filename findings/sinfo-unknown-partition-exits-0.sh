#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Slurm 22.05.8, a partition, a node and a user that do not exist. Expected: an error each, as `scontrol show` and `squeue -w`
# have it. Seen: `sinfo -p` and `squeue -p` print nothing and end with 0, `sinfo -n` prints the partition with 0 nodes and
# ends with 0, and `squeue -u` prints an error and ends with 0. So "no node of it is drained" and "nobody computes there" are
# also what a misspelt name looks like.
. "$(dirname "$0")/lib/slurm.sh"
controller
# ask WORDS...: standard output is in out.txt, standard error in err.txt, the exit status in $status.
ask() {
    status=0
    "$@" > out.txt 2> err.txt || status=$?
    echo "--- $*: exit status $status, $(grep -c . out.txt || true) lines, standard error: $(paste -sd' ' err.txt)"
}
ask sinfo -h -p batch
[ "$status" = 0 ] && [ -s out.txt ] || changed "the partition that exists is not listed"
for tool in sinfo squeue; do
    ask $tool -h -p bacth
    [ "$status" = 0 ] && [ ! -s out.txt ] && [ ! -s err.txt ] || changed "$tool knows that there is no such partition"
done
ask sinfo -h -n n7 -o "%P %D"
[ "$status" = 0 ] && grep -q "^batch\* 0$" out.txt || changed "sinfo knows that there is no such node"
ask squeue -h -u nosuchuser
[ "$status" = 0 ] && grep -q "Invalid user" err.txt || changed "squeue -u has another exit status"
ask squeue -h -w n7
[ "$status" = 1 ] || changed "squeue -w takes a node that does not exist"
ask scontrol show partition bacth
[ "$status" = 1 ] || changed "scontrol shows a partition that does not exist"
echo "as described"
