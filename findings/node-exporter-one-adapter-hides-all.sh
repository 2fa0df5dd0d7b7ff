#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# node_exporter 1.5.0, collector infiniband, on a tree as the kernel's /sys/class/infiniband has it: one adapter with all
# files, and one without `board_id`, as Soft-RoCE (rdma_rxe) is. Expected: the first adapter's metrics, the second's
# without what it lacks. Seen: no metric of any adapter and no line at the default log level; only
# node_scrape_collector_success is 0.
set -euo pipefail
folder=$(mktemp -d)
exporter=
trap '[ -z "$exporter" ] || kill "$exporter" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download prometheus-node-exporter=1.5.0-1+b6 2>/dev/null || { echo "cannot download the package"; exit 2; }
dpkg -x prometheus-node-exporter_*.deb root
changed() { echo "CHANGED: $1"; exit 1; }

adapter() {
    local own=sys/class/infiniband/$1 port=sys/class/infiniband/$1/ports/1
    mkdir -p "$port/counters"
    echo 28.39.1002 > "$own/fw_ver"
    echo "4: ACTIVE" > "$port/state"
    echo "5: LinkUp" > "$port/phys_state"
    echo "100 Gb/sec (4X EDR)" > "$port/rate"
    echo 7 > "$port/counters/port_xmit_data"
}
scrape() {
    root/usr/bin/prometheus-node-exporter --path.sysfs="$folder/sys" --collector.disable-defaults --collector.infiniband \
        --web.listen-address=127.0.0.1:19137 > log 2>&1 &
    exporter=$!
    for _ in $(seq 50); do
        python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:19137/metrics").read().decode())' \
            > metrics 2>/dev/null && break
        sleep 0.1
    done
    kill "$exporter" && wait "$exporter" 2>/dev/null || true
    exporter=
    [ -s metrics ] || { echo "the exporter does not answer"; exit 2; }
    echo "$1: $(grep -c '^node_infiniband.*mlx5_0' metrics || true) metrics of mlx5_0, $(grep '^node_scrape_collector_success' metrics)"
}

root/usr/bin/prometheus-node-exporter --version 2>&1 | head -1
adapter mlx5_0
echo MT_0000000838 > sys/class/infiniband/mlx5_0/board_id
scrape "one adapter"
grep -q '^node_infiniband_port_data_transmitted_bytes_total.*mlx5_0.* 28$' metrics || changed "a whole adapter has no metric"
adapter rxe0
scrape "and one without board_id"
! grep -q '^node_infiniband' metrics || changed "there are metrics of adapters"
grep -q '^node_scrape_collector_success.* 0$' metrics || changed "the collector succeeds"
! grep -qE 'level=(warn|error).*infiniband' log || changed "it says so in its log"
echo "as described"
