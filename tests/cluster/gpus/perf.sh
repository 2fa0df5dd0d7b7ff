#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A stand-in for a program of nccl-tests: rank 0 prints a recorded output, and each rank leaves its part of NCCL's log.
# GPU_OUTPUTS is the folder with both: BENCHMARK.txt, with BENCHMARK.json behind -J, and a file of the log for each rank.
log=$(echo "$NCCL_DEBUG_FILE" | sed "s/%h/$(uname -n)/; s/%p/$$/")
cat "$GPU_OUTPUTS/log/$SLURM_PROCID" > "$log" || exit 1
if [ "$SLURM_PROCID" = 0 ]; then
    benchmark=$GPU_OUTPUTS/$(basename "$0" _perf)
    while [ $# -gt 0 ]; do
        [ "$1" != -J ] || cp "$benchmark.json" "$2" || exit 1
        shift
    done
    cat "$benchmark.txt"
fi
