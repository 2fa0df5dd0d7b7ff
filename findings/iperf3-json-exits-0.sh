#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# iperf3 3.12 with -J, where nothing listens, and where the server ends in the middle. Expected: exit status 1, as without -J.
# Seen: 0; the error is a field of the JSON. And of UDP that loses most of its packets the JSON's sum has the rate that was
# sent, beside the share that was lost; what arrived is in sum_received.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1 2>/dev/null ||
    { echo "cannot download the packages"; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu
changed() { echo "CHANGED: $1"; exit 1; }
port=$((20000 + $$ % 20000))
# Run a client; its output is in the file "output", its exit status in "status".
client() {
    status=0
    timeout 30 root/usr/bin/iperf3 -c 127.0.0.1 -p $port "$@" > output 2>&1 || status=$?
}
# Start a server that lives for some seconds, and wait until it listens.
serve() {
    timeout "$1" root/usr/bin/iperf3 -s --forceflush -p $port > server.txt 2>&1 &
    server=$!
    for _ in $(seq 50); do grep -q listening server.txt && return; sleep 0.1; done
}
root/usr/bin/iperf3 --version | head -1 || { echo "cannot run iperf3"; exit 2; }
client
echo "nothing listens: status $status; $(tail -1 output)"
[ "$status" -eq 1 ] || changed "without -J the status is $status"
client -J
echo "nothing listens, -J: status $status; $(grep -o '"error".*' output)"
[ "$status" -eq 0 ] || changed "with -J the status is $status"
serve 3
client -J -t 8
echo "the server ends, -J: status $status; $(grep -o '"error".*' output)"
[ "$status" -eq 0 ] || changed "with -J the status is $status when the server ends"
grep -q "server has terminated" output || changed "the server's end is no error"
serve 30
# A small buffer at the receiver, and as many packets as the sender can.
client -J -u -b 0 -t 2 -l 1400 -w 4K
python3 - > sums <<'PY'
import json

end = json.load(open("output"))["end"]
ratio = end["sum_received"]["bytes"] / end["sum"]["bytes"]
same = end["sum"]["bits_per_second"] == end["sum_sent"]["bits_per_second"]
print(f"UDP: {end['sum']['lost_percent']:.0f} % lost, received {ratio:.0%} of the sum; sum is sum_sent: {same}")
PY
cat sums
grep -q "sum is sum_sent: True" sums || changed "sum is not what was sent"
echo "as described"
