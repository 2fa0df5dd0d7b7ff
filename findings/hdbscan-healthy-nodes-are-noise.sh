#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDBSCAN of scikit-learn 1.9.1, asked which of 64 nodes are unlike the others by their bandwidth. Expected: one cluster, and
# the slow node as noise. Seen: all 64 are noise, the slow one no more than the others; with allow_single_cluster 6 are a cluster
# and 58 noise. 63 equal values and a slow one are all noise, too; and where the healthy ones have two values, 100 and 100.1 as
# a clock with coarse ticks gives them, they are two clusters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install "scikit-learn==1.9.1" "scipy==1.17.1" "numpy==2.4.6" >&2 || { echo "cannot install scikit-learn"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > nodes.py <<'PY'
from statistics import NormalDist

import numpy as np
import sklearn
from sklearn.cluster import HDBSCAN


def clusters(values, **options):
    """Return how many values each cluster has, then how many are noise, then what the last value is."""
    labels = HDBSCAN(copy=True, **options).fit_predict(np.reshape(values, (-1, 1)))
    sizes = [int((labels == label).sum()) for label in range(labels.max() + 1)]
    return f"clusters {sizes}, noise {(labels == -1).sum()}, the last is {'noise' if labels[-1] == -1 else 'in a cluster'}"


print("scikit-learn", sklearn.__version__)
# 64 nodes of 100 with a standard deviation of 1, evenly spread over the normal distribution; the last one is slow.
healthy = [NormalDist(100, 1).inv_cdf((node + 0.5) / 64) for node in range(64)]
slow = [*healthy[:-1], 50.0]
print("healthy:", clusters(healthy))
print("one slow:", clusters(slow))
print("one slow, one cluster allowed:", clusters(slow, allow_single_cluster=True))
print("one slow, the others equal:", clusters([100.0] * 63 + [50.0]))
print("one slow, the others of two values:", clusters([100.0, 100.1] * 31 + [100.0, 50.0]))
PY
venv/bin/python nodes.py | tee seen
for line in "healthy: clusters [], noise 64, the last is noise" "one slow: clusters [], noise 64, the last is noise" \
    "one slow, one cluster allowed: clusters [6], noise 58, the last is noise" \
    "one slow, the others equal: clusters [], noise 64, the last is noise" \
    "one slow, the others of two values: clusters [32, 31], noise 1, the last is noise"; do
    grep -qxF "$line" seen || changed "not: $line"
done
echo "as described"
