#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# VictoriaMetrics 1.79.5 and values of two nodes with 30 labels each, "node" the last of them by alphabet. Expected: two series,
# or an answer of 400. Seen: 204, no line in its log, and one series that has both values and no label "node": with the name of
# the metric that is one label too many, and the last ones by alphabet are dropped. Rows older than the retention and lines that
# it cannot read get 204 as well.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download victoria-metrics=1.79.5+ds1-2+b5 2>/dev/null || { echo "cannot download the package"; exit 2; }
dpkg -x ./*.deb root
changed() { echo "CHANGED: $1"; exit 1; }
port=$((20000 + $$ % 20000))
timeout 100 root/usr/bin/victoria-metrics -storageDataPath=data -httpListenAddr=127.0.0.1:$port > log 2>&1 &
server=$!
cat > import.py <<'PY'
import json
import sys
import time
from urllib.parse import quote
from urllib.request import Request, urlopen

store = f"http://127.0.0.1:{sys.argv[1]}"
now = int(time.time() * 1000)


def line(name, value, milliseconds=now, **labels):
    return json.dumps({"metric": {"__name__": name, **labels}, "values": [value], "timestamps": [milliseconds]}) + "\n"


def send(text):
    status = urlopen(Request(f"{store}/api/v1/import", data=text.encode(), method="POST")).status
    # Rows are kept for a second before they can be read.
    time.sleep(2)
    urlopen(f"{store}/internal/force_flush").read()
    return status


def stored(name):
    selector = quote(f'{{__name__="{name}"}}')
    return [json.loads(text) for text in urlopen(f"{store}/api/v1/export?match[]={selector}").read().splitlines()]


for attempt in range(40):
    try:
        urlopen(f"{store}/health").read()
        break
    except OSError:
        time.sleep(0.25)
for count in (28, 29):
    common = {f"label{i:02d}": "x" for i in range(count)}
    status = send("".join(line(f"bandwidth_{count}", value, **common, node=node) for node, value in (("n1", 100), ("n2", 50))))
    series = stored(f"bandwidth_{count}")
    nodes = sorted(one["metric"].get("node", "none") for one in series)
    print(f"{count + 1} labels: answer {status}, {len(series)} series, label node: {' '.join(nodes)}")
old = send(line("old", 1, now - 100 * 86_400_000))
broken = send("no JSON\n")
print(f"older than the retention: answer {old}, {len(stored('old'))} series; no JSON: answer {broken}")
PY
echo "VictoriaMetrics $(dpkg-deb -f ./*.deb Version)"
timeout 60 python3 import.py $port > seen || { tail -3 log; echo "the store does not answer"; exit 2; }
cat seen
grep -qx "29 labels: answer 204, 2 series, label node: n1 n2" seen || changed "29 labels are not kept"
grep -qx "30 labels: answer 204, 1 series, label node: none" seen || changed "30 labels are something else"
grep -qx "older than the retention: answer 204, 0 series; no JSON: answer 204" seen || changed "what is refused has another answer"
! grep -qi label log || changed "the log has a word of labels"
echo "as described"
