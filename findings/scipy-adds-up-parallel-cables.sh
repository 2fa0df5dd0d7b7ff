#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two switches with two cables of 1 us between them, a MultiGraph of NetworkX 3.6.1 given to SciPy 1.17.1 for the shortest paths
# of all pairs. Expected: 1 us, as NetworkX itself has it. Seen: 2 us: to_scipy_sparse_array adds the latencies of parallel
# cables, as do SciPy's own sparse arrays of one entry a cable. A cable of 0 us is no cable where the array is a dense one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install "networkx==3.6.1" "scipy==1.17.1" "numpy==2.4.6" >&2 || { echo "cannot install the packages"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > latency.py <<'PY'
import networkx
import numpy as np
import scipy
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

print("NetworkX", networkx.__version__, "SciPy", scipy.__version__)
for cables in (1, 2):
    graph = networkx.MultiGraph()
    graph.add_edges_from([("leaf", "spine", {"us": 1.0})] * cables)
    own = networkx.shortest_path_length(graph, "leaf", "spine", weight="us")
    given = shortest_path(networkx.to_scipy_sparse_array(graph, weight="us"))[0, 1]
    entries = coo_array(([1.0] * cables, ([0] * cables, [1] * cables)), shape=(2, 2))
    print(f"{cables} cable(s): NetworkX {own:g}, given to SciPy {given:g}, SciPy alone {shortest_path(entries.tocsr())[0, 1]:g}")
# From a to b at no cost, from b to c 1 us.
dense = np.array([[0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]])
print(f"a cable of 0 us: {shortest_path(dense)[0, 1]:g}")
PY
venv/bin/python latency.py | tee seen
grep -qx "1 cable(s): NetworkX 1, given to SciPy 1, SciPy alone 1" seen || changed "one cable has another latency"
grep -qx "2 cable(s): NetworkX 1, given to SciPy 2, SciPy alone 2" seen || changed "two cables have another latency"
grep -qx "a cable of 0 us: inf" seen || changed "a cable of 0 us counts"
echo "as described"
