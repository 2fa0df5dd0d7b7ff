#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sinfo of Slurm 22.05.8 on a node that has failed (DOWN) and is drained as well, beside one that is drained alone. Expected:
# the two can be told apart, as `scontrol show node` does (DOWN+DRAIN). Seen: both are "drained"; and `sinfo -t down` has
# the failed one, under "drained" and with the other's state: who waits until no drained node is at work goes by dead ones too.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/slurm.sh"
controller
scontrol update NodeName=n1 State=down Reason=failed
scontrol update NodeName=n[1-2] State=drain Reason=repair
state() { scontrol show node "$1" | grep -oE "State=[A-Z+*]+"; }
for node in n1 n2; do
    echo "$node: scontrol $(state $node), sinfo $(sinfo -h -N -n $node -o "%T")"
done
echo "sinfo -R:      $(sinfo -h -R -o "%E %N")"
echo "sinfo -t down: $(sinfo -h -t down -o "%T %N")"
[ "$(state n1)" = "State=DOWN+DRAIN" ] || changed "scontrol has another state for n1"
[ "$(sinfo -h -N -n n1 -o "%T %t")" = "drained drain" ] || changed "sinfo has another state for n1"
[ "$(sinfo -h -N -n n2 -o "%T %t")" = "drained drain" ] || changed "sinfo has another state for n2"
[ "$(sinfo -h -t down -o "%T %N")" = "drained n1" ] || changed "sinfo -t down prints something else"
echo "as described"
