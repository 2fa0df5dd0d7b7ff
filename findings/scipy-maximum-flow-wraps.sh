#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SciPy 1.17.1, scipy.sparse.csgraph.maximum_flow between two hosts on a link of 200 Gbit/s, 25e9 B/s, as 64-bit integers.
# Expected: 25,000,000,000, or an error, as there is one for floating-point numbers. Seen: 0, without a word: capacities are
# cut to 32 bits, so that 2^31 to 2^32 - 1 are no link, and 2^32 + 5 is 5. The sum of several links has 64 bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install "scipy==1.17.1" "numpy==2.4.6" >&2 || { echo "cannot install SciPy"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > flow.py <<'PY'
import warnings

import numpy as np
import scipy
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

warnings.simplefilter("error")


def flow(capacity, paths=1):
    """Return the flow from a host over a number of switches to another host."""
    last = paths + 1
    links = np.zeros((last + 1, last + 1), dtype=type(capacity))
    links[0, 1:last] = links[1:last, last] = capacity
    return maximum_flow(csr_array(links), 0, last).flow_value


print("SciPy", scipy.__version__)
for rate in (2**31 - 1, 2**31, 2**32 + 5, 25_000_000_000):
    print(f"{rate} B/s: {flow(np.int64(rate))}")
print(f"4 paths of 2000000000 B/s: {flow(np.int64(2_000_000_000), paths=4)}")
try:
    print("25e9 B/s:", flow(np.float64(25e9)))
except ValueError as error:
    print("25e9 B/s:", error)
PY
venv/bin/python flow.py | tee seen
for line in "2147483647 B/s: 2147483647" "2147483648 B/s: 0" "4294967301 B/s: 5" "25000000000 B/s: 0" \
    "4 paths of 2000000000 B/s: 8000000000" "25e9 B/s: graph capacities must be integers"; do
    grep -qxF "$line" seen || changed "not: $line"
done
echo "as described"
