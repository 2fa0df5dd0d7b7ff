#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# srun of Slurm 22.05, when the only node of its step dies in an allocation that goes on without it (salloc --no-kill).
# Expected: a status that is not 0, for the program never ended. Seen: "error: Node failure on n1", and status 0. That of
# 24.11 and 26.05 ends with 1.
# A node dies here as its controller sees it: its daemons are stopped, and answer no more.
set -euo pipefail
folder=$(mktemp -d)
# The processes of this folder's cluster.
own() { grep -lsa "SLURM_CONF=$folder/" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx $$; }
trap '{ kill -KILL $(own) || true; wait; } 2>/dev/null; rm -rf "$folder"' EXIT
chmod 0711 "$folder"; cd "$folder"
apt-get -qq download {slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins}=22.05.8-4+deb12u3 munge libmunge2 libhwloc15 \
    liblua5.3-0 libjson-c5 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
for daemon in slurmctld slurmd slurmstepd; do ln -s $daemon-wlm root/usr/sbin/$daemon; done
changed() { echo "CHANGED: $1"; exit 1; }

plugins=$folder/root/usr/lib/x86_64-linux-gnu/slurm-wlm
export PATH=$folder/root/usr/sbin:$folder/root/usr/bin:$PATH SLURM_CONF=$folder/slurm.conf
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$plugins
me=$(id -un) host=$(hostname -s) port=$((20000 + $$ % 20000))
mkdir state spooln1 spooln2
head -c 128 /dev/urandom >key && chmod 0600 key
cat >slurm.conf <<CONF
ClusterName=finding
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$me
SlurmdUser=$me
AuthInfo=socket=$folder/munge
PluginDir=$plugins
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
SlurmctldPort=$port
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SlurmdTimeout=10
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES
CONF
munged --foreground --force --key-file=key --socket=munge --pid-file=munge.pid --log-file=munge.log --seed-file=seed 2>/dev/null &
until [ -S munge ]; do sleep 0.1; done
slurmctld -D -c >slurmctld.out 2>&1 &
for node in n1 n2; do slurmd -D -N $node -d "$folder/root/usr/sbin/slurmstepd" >$node.out 2>&1 & done
for _ in $(seq 150); do [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = 2 ] && break; sleep 0.2; done
[ "$(sinfo -h -N -t idle -o %N | wc -l)" = 2 ] || { cat slurmctld.log n1.out; exit 2; }
slurmd -V
# Stop those of a node: its slurmd, and the daemons of steps, which are all on n1.
die() {
    local process
    for process in $(own); do
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$process/cmdline" || true) in
            *"slurmd -D -N n1"* | slurmstepd*) kill -STOP "$process" ;;
        esac
    done
}
salloc -Q --no-kill -N2 sh -c 'srun --mpi=none -N1 -n1 -w n1 sh -c "touch begun; sleep 600"; echo "status $?"' >seen 2>&1 &
for _ in $(seq 150); do [ -f begun ] && break; sleep 0.2; done
die
for _ in $(seq 300); do grep -q '^status' seen && break; sleep 0.2; done
cat seen
grep -q 'Node failure on n1' seen || changed "srun does not tell of the node"
grep -q 'status 0' seen || changed "srun ends with another status"
echo "as described"
