#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A stand-in for all_reduce_perf: each job takes the next trial of GPU_OUTPUTS. A trial has what rank 0 prints, the log of
# NCCL of each rank, and what `ports` finds on each node, whose own file is put aside: that program has it open.
mkdir -p "$GPU_OUTPUTS/jobs/$SLURM_JOB_ID"
trial=$GPU_OUTPUTS/$(ls "$GPU_OUTPUTS/jobs" | sort -n | grep -nx "$SLURM_JOB_ID" | cut -d: -f1)
log=$(echo "$NCCL_DEBUG_FILE" | sed "s/%h/$(uname -n)/; s/%p/$$/")
cat "$trial/log/$SLURM_PROCID" > "$log" || exit 1
if [ "$SLURM_LOCALID" = 0 ]; then
    mv "$trial/ports/$SLURMD_NODENAME.txt" "ports/$SLURMD_NODENAME.txt" || exit 1
fi
if [ "$SLURM_PROCID" = 0 ]; then
    cat "$GPU_OUTPUTS/all_reduce.txt"
fi
