#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Slurm 22.05.8: `scontrol update NodeName=n[1-9] State=drain Reason=test` in a cluster that has n1 to n4. Expected: the error
# that a name is not valid, and no node changed, as of one request. Seen: the error, exit status 1, and n1 to n4 are drained:
# who reads the error, mends the list and gives up leaves healthy nodes out of service.
. "$(dirname "$0")/lib/slurm.sh"
controller
sinfo -h -N -o "%N %T" | sort | paste -sd' '
status=0
scontrol update NodeName=n[1-9] State=drain Reason=test > out.txt 2> err.txt || status=$?
echo "--- scontrol update: exit status $status: $(cat out.txt err.txt)"
drained=$(sinfo -h -R -o "%N")
echo "drained: ${drained:-nobody}"
[ "$status" = 1 ] && grep -q "Invalid node name" err.txt || changed "the update is no error"
[ "$drained" = "n[1-4]" ] || changed "other nodes are drained"
echo "as described"
