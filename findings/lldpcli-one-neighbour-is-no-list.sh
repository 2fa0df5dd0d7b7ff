#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lldpcli 1.0.16 with -f json on a host with one cable to a switch, and with two. As root. Expected: a list of interfaces, of one
# or two. Seen: with one cable "interface" is an object, with two it is a list of such objects, so that what reads one fails on
# the other; what the objects are about, the interface and the neighbour, stands in their keys. -f json0 has lists in both cases.
set -euo pipefail
[ "$(id -u)" -eq 0 ] || { echo "needs root"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download lldpd=1.0.16-1+deb12u1 libbsd0 libmd0 libcap2 libevent-2.1-7 libreadline8 libsnmp40 libsnmp-base libxml2 \
    libtinfo6 libicu72 libssl3 libsensors5 libpci3 libudev1 2>/dev/null || { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/lib/x86_64-linux-gnu PATH=$folder/root/usr/sbin:$PATH
export lldpcli=$folder/root/usr/sbin/lldpcli
changed() { echo "CHANGED: $1"; exit 1; }
{ cat /etc/passwd; echo "_lldpd:x:64999:64999::/run/lldpd:/bin/false"; } > users
{ cat /etc/group; echo "_lldpd:x:64999:"; } > groups
cat > daemon.sh <<'SH'
# Run lldpd with a socket $1 that sends each second. It has a /run of its own.
mount -t tmpfs none /run
mkdir /run/lldpd
ip link set lo up
touch "ready.$1"
lldpd -d -L "$lldpcli" -u "$PWD/$1.socket" > "$1.log" 2>&1 &
for _ in $(seq 50); do [ ! -S "$1.socket" ] || break; sleep 0.2; done
"$lldpcli" -u "$PWD/$1.socket" configure lldp tx-interval 1 > /dev/null
wait
SH
cat > host.sh <<'SH'
# A host in a network of its own, which gets a cable to a first and a second switch; what it knows then is in 1.json and 2.json.
set -euo pipefail
mount --bind users /etc/passwd
mount --bind groups /etc/group
unshare --mount bash daemon.sh host &
for count in 1 2; do
    unshare --net --mount bash daemon.sh "switch$count" &
    for _ in $(seq 50); do [ ! -e "ready.switch$count" ] || break; sleep 0.2; done
    ip link add "cable$count" type veth peer name port netns $!
    nsenter --net="/proc/$!/ns/net" ip link set port up
    ip link set "cable$count" up
    for _ in $(seq 60); do
        "$lldpcli" -u "$PWD/host.socket" -f json show neighbors > "$count.json" 2> messages || true
        ! grep -q "cable$count" "$count.json" || break
        sleep 0.5
    done
    "$lldpcli" -u "$PWD/host.socket" -f json0 show neighbors > "$count.json0"
done
SH
# All processes of this namespace end with its first one.
timeout 100 unshare --net --mount --pid --fork --mount-proc bash host.sh || { cat messages ./*.log; echo "lldpd does not run"; exit 2; }
echo "lldpcli $("$lldpcli" -v)"
cat > shape.py <<'PY'
import json
import sys

for name in sys.argv[1:]:
    with open(name) as file:
        lldp = json.load(file)["lldp"]
    if isinstance(lldp, list):
        lldp = lldp[0]
    found = lldp.get("interface")
    print(f"{name}: {type(found).__name__} {' '.join(found) if isinstance(found, dict) else len(found)}")
PY
python3 shape.py 1.json 2.json 1.json0 2.json0 | tee seen
grep -qx "1.json: dict cable1" seen || changed "one cable is something else"
grep -qx "2.json: list 2" seen || changed "two cables are something else"
grep -qx "1.json0: list 1" seen || changed "json0 has something else"
echo "as described"
