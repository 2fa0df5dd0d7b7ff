#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# NetworkX 3.6.1, two leaf switches and two spines with two cables each, in a MultiGraph. Expected of its edge connectivity,
# how many cables may break before a part is cut off: 4, as each switch has four; or the error that maximum_flow has for a
# MultiGraph. Seen: 2, without a word: parallel cables count once, and of one cable each the same function says 2 as well.
# Of two switches with two cables between them it says 2 in all, and 1 between the two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "networkx==3.6.1" >&2 || { echo "cannot install NetworkX"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > connectivity.py <<'PY'
import networkx


def fabric(cables: int) -> networkx.MultiGraph:
    graph = networkx.MultiGraph()
    for leaf in ("leaf1", "leaf2"):
        for spine in ("spine1", "spine2"):
            graph.add_edges_from([(leaf, spine)] * cables)
    return graph


print("NetworkX", networkx.__version__)
for cables in (1, 2):
    graph = fabric(cables)
    print(f"{cables} cable(s) each: degree {graph.degree('leaf1')},", end=" ")
    print(f"edge connectivity {networkx.edge_connectivity(graph)},", end=" ")
    print(f"disjoint paths {len(list(networkx.edge_disjoint_paths(graph, 'leaf1', 'leaf2')))}")
try:
    print("maximum flow:", networkx.maximum_flow_value(fabric(2), "leaf1", "leaf2"))
except networkx.NetworkXError as error:
    print("maximum flow:", error)
pair = networkx.MultiGraph([("leaf1", "spine1")] * 2)
print("two switches, two cables: in all", networkx.edge_connectivity(pair), end=", ")
print("between them", networkx.edge_connectivity(pair, "leaf1", "spine1"))
PY
venv/bin/python connectivity.py | tee seen
grep -qx "2 cable(s) each: degree 4, edge connectivity 2, disjoint paths 2" seen || changed "parallel cables count"
grep -q "^maximum flow: MultiGraph .* not supported" seen || changed "maximum_flow takes a MultiGraph"
grep -qx "two switches, two cables: in all 2, between them 1" seen || changed "another answer for two switches"
echo "as described"
