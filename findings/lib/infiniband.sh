# SPDX-License-Identifier: BSD-3-Clause
# Source this: unpacks ibsim, OpenSM and infiniband-diags of Debian 12 in a temporary folder, and enters it. Then:
#   simulate FILE   starts ibsim on a fabric; "command ..." sends it a command
#   sim TOOL ...    runs a tool on the simulated host H-1
set -euo pipefail
folder=$(mktemp -d)
simulator=
trap '[ -z "$simulator" ] || kill "$simulator" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download opensm=3.3.23-2+b1 libopensm9=3.3.23-2+b1 libosmcomp5=3.3.23-2+b1 libosmvendor5=3.3.23-2+b1 \
    infiniband-diags=44.0-2 libibnetdisc5=44.0-2 libibmad5=44.0-2 libibumad3=44.0-2 ibsim-utils=0.10-2 \
    libumad2sim0=0.10-2 libwrap0 libnl-3-200 libnl-route-3-200 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export PATH=$folder/root/usr/sbin:$folder/root/usr/bin:$PATH LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu
export IBSIM_SOCKNAME=finding$$ OSM_TMP_DIR=$folder OSM_CACHE_DIR=$folder
library=$(ls "$LD_LIBRARY_PATH"/umad2sim/libumad2sim.so* | head -1)

simulate() {
    mkfifo commands
    ibsim -s -N 64 -S 64 -P 1024 "$1" > ibsim.out 2>&1 < commands &
    simulator=$!
    exec 3> commands
    for _ in $(seq 100); do grep -q 'sim>' ibsim.out && return; sleep 0.1; done
    echo "ibsim does not start"; exit 2
}
command_of_fabric() { echo "$*" >&3; sleep 0.5; }
sim() { SIM_HOST="H-0000000000000101" LD_PRELOAD=$library timeout 60 "$@"; }
opensm_once() { sim opensm -o -D 0x43 -f opensm.log "$@" > opensm.out 2>&1; }

# Print a fabric: two leaves, two spines; the arguments are the numbers of adapters of each of four hosts.
fabric() {
    local adapters=$1 leaf spine host adapter
    for leaf in 1 2; do
        printf 'Switch\t16 "S-0000000000000a0%s"\t\t# "leaf%s"\n' $leaf $leaf
        for host in 1 2; do
            for adapter in $(seq "$adapters"); do
                printf '[%s]\t"H-0000000000000%s0%s"[1]\n' $((2 * host - 2 + adapter)) "$adapter" $((2 * leaf - 2 + host))
            done
        done
        for spine in 1 2; do printf '[%s]\t"S-0000000000000b0%s"[%s]\n' $((10 + spine)) $spine $leaf; done
        echo
    done
    for spine in 1 2; do
        printf 'Switch\t16 "S-0000000000000b0%s"\t\t# "spine%s"\n' $spine $spine
        for leaf in 1 2; do printf '[%s]\t"S-0000000000000a0%s"[%s]\n' $leaf $leaf $((10 + spine)); done
        echo
    done
    for host in 1 2 3 4; do
        for adapter in $(seq "$adapters"); do
            printf 'Ca\t1 "H-0000000000000%s0%s"\t\t# "cn%s mlx5_%s"\n' "$adapter" $host $host $((adapter - 1))
            printf '[1]\t"S-0000000000000a0%s"[%s]\n\n' $(((host + 1) / 2)) $((2 * ((host - 1) % 2) + adapter))
        done
    done
}

# Fail: what this script states is no longer so.
changed() { echo "CHANGED: $1"; exit 1; }
