#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nodeset of ClusterShell 1.9.3 on names with two numbers (rack and node). Expected: `nodeset -e` prints them in order,
# as it does for names with one number, whatever the order they were given in. Seen: the largest block that it can fold
# comes first, so that rack 2 is printed before rack 1, and its first node after the others. The same in Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "ClusterShell==1.9.3" >&2 || { echo "cannot install ClusterShell"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
venv/bin/nodeset --version
# Compare the names of a list, expanded, with those expected.
expands() {
    local seen
    seen=$(venv/bin/nodeset -e "$1")
    echo "$1: $seen"
    [ "$seen" = "$2" ] || changed "no longer $2"
}
expands "n10,n2,n1" "n1 n2 n10"
expands "r1n1,r2n1,r2n2,r2n3" "r1n1 r2n1 r2n2 r2n3"
expands "r1n1,r2n1,r2n2,r2n3,r2n4,r2n5" "r2n2 r2n3 r2n4 r2n5 r1n1 r2n1"
first=$(venv/bin/python -c 'from ClusterShell.NodeSet import NodeSet; print(NodeSet("r1n1,r2n[1-5]")[0])')
echo "first of r1n1,r2n[1-5] in Python: $first"
[ "$first" = r2n2 ] || changed "the first one in Python is $first"
echo "as described"
