#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A controller of Slurm 26.05.5 with accounting (Debian's next release) that is killed seconds after its first start, as by a
# loss of power. As root, with debootstrap. Expected: it starts again, as that of 24.11 does. Seen: "fatal: No Assoc usage file",
# each time, with -c too: the file is written minutes after the first start. With -i it starts.
set -euo pipefail
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "this needs root and debootstrap"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder" "$folder.log"' EXIT
# The script of sid installs any release; packages are left to the release's own apt, and start no daemon.
{
    debootstrap --variant=minbase --include=ca-certificates forky "$folder" \
        "${FABRIC_MIRROR:-http://deb.debian.org/debian}" /usr/share/debootstrap/scripts/sid &&
        cp -L /etc/resolv.conf /etc/hosts "$folder/etc/" && printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d" &&
        chmod +x "$folder/usr/sbin/policy-rc.d" && unshare --mount chroot "$folder" sh -c 'mount -t proc proc /proc &&
            apt-get -o Acquire::Check-Valid-Until=false update &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends slurmctld slurmdbd slurm-client munge \
                mariadb-server iproute2'
} >"$folder.log" 2>&1 || { tail -3 "$folder.log"; echo "cannot install Slurm"; exit 2; }
cat >"$folder/root/try" <<'TRY'
mount -t proc proc /proc
ip link set lo up; ip link add eth0 type veth peer name eth1; ip addr add 10.9.0.1/24 dev eth0; ip link set eth0 up; ip link set eth1 up
hostname head; echo "10.9.0.1 head n1" >>/etc/hosts
mkdir -p /t/state /t/db; cd /t; chmod 755 /t; head -c 1024 /dev/urandom >key; chmod 600 key
munged --force --socket=/t/munge --key-file=/t/key --pid-file=/t/munge.pid --log-file=/t/munge.log --seed-file=/t/seed
mariadb-install-db --no-defaults --user=root --datadir=/t/db >/dev/null 2>&1
printf '%s\n' "CREATE DATABASE acct;" "CREATE USER 'root'@'10.9.0.1';" "GRANT ALL ON *.* TO 'root'@'10.9.0.1';" >init.sql
mariadbd --no-defaults --user=root --datadir=/t/db --socket=/t/db.sock --bind-address=10.9.0.1 --skip-name-resolve --init-file=/t/init.sql >db.log 2>&1 &
printf '%s\n' DbdHost=head DbdAddr=10.9.0.1 AuthInfo=socket=/t/munge SlurmUser=root StorageType=accounting_storage/mysql \
    StorageHost=10.9.0.1 StorageUser=root StorageLoc=acct PidFile=/t/dbd.pid >slurmdbd.conf; chmod 600 slurmdbd.conf
printf '%s\n' ClusterName=x 'SlurmctldHost=head(10.9.0.1)' AuthInfo=socket=/t/munge SlurmUser=root SlurmdUser=root StateSaveLocation=/t/state \
    SlurmctldPidFile=/t/ctld.pid ProctrackType=proctrack/linuxproc TaskPlugin=task/none AccountingStorageType=accounting_storage/slurmdbd \
    AccountingStorageHost=10.9.0.1 AccountingStoragePass=/t/munge NodeName=n1 "PartitionName=c Nodes=n1 Default=YES" >slurm.conf
export SLURM_CONF=/t/slurm.conf
sleep 4; slurmdbd -D >dbd.log 2>&1 &
sleep 8; sacctmgr --immediate add cluster x >/dev/null
start() { slurmctld -D $1 >out 2>&1 & pid=$!; sleep 6; echo "slurmctld $1: $(grep -oE 'fatal: [^(]*|Running as primary' out)"; kill -9 $pid 2>/dev/null; sleep 1; }
slurmctld -V; start -c; start; start -c; start -i
TRY
seen=$(unshare --net --uts --pid --mount --fork --kill-child chroot "$folder" bash /root/try 2>/dev/null)
echo "$seen"
changed() { echo "CHANGED: $1"; exit 1; }
[ "$(grep -c 'fatal: No Assoc usage file' <<<"$seen")" = 2 ] || changed "it starts again after it was killed"
[ "$(grep -c 'Running as primary' <<<"$seen")" = 2 ] || changed "it does not start at first, or with -i"
