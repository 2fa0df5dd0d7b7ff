#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sockperf 3.7, throughput of TCP with messages of 10,000 B. Expected: Mbps is 10^6 bits per second, the unit in which links
# are sold; if MBps has 2^20 bytes, the two differ by another factor than 8. Seen: both have 2^20: the message rate times
# the size in bits is 1.0486 times the Mbps that are printed, so a link of 10 Gbit/s can never show more than 9,537.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download sockperf=3.7-1 2>/dev/null || { echo "cannot download the package"; exit 2; }
dpkg -x ./*.deb root
changed() { echo "CHANGED: $1"; exit 1; }
port=$((20000 + $$ % 20000))
timeout 60 root/usr/bin/sockperf server --tcp -p $port > server.txt 2>&1 &
server=$!
for _ in $(seq 20); do
    timeout 30 root/usr/bin/sockperf throughput --tcp -i 127.0.0.1 -p $port -t 2 -m 10000 > client.txt 2>&1
    grep -q "BandWidth is" client.txt && break
    sleep 0.5
done
grep -oE "version #[0-9.]+|Summary: .*" client.txt || { cat client.txt; echo "cannot measure"; exit 2; }
rate=$(grep -oE "Message Rate is [0-9]+" client.txt | grep -oE "[0-9]+$")
megabits=$(grep -oE "\([0-9.]+ Mbps\)" client.txt | grep -oE "[0-9.]+")
ratio=$(awk -v rate="$rate" -v megabits="$megabits" 'BEGIN {printf "%.3f", rate * 80000 / (megabits * 1e6)}')
echo "message rate x 80,000 bits is $ratio of the Mbps in 10^6 bit/s"
case $ratio in 1.048 | 1.049) ;; *) changed "the ratio is $ratio" ;; esac
echo "as described"
