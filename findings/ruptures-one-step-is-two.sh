#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ruptures 1.1.10, Pelt on 60 nights, of which the first 22 measured 100 and the others 90. Expected: one change, at 22. Seen:
# two, at 20 and 25, since by default only every fifth night can be one, so that nights 20 to 24 are a level of their own;
# and a change in the last two nights is dated to the one before them that can be divided by 5. KernelCPD finds 22.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install "ruptures==1.1.10" "numpy==2.4.6" "scipy==1.17.1" >&2 ||
    { echo "cannot install ruptures"; exit 2; }
changed() { echo "CHANGED: $1"; exit 1; }
cat > nights.py <<'PY'
from importlib.metadata import version

import numpy as np
import ruptures


def nights(before: int, after: int) -> np.ndarray:
    return np.r_[np.full(before, 100.0), np.full(after, 90.0)]


def changes(method, signal, **options) -> list[int]:
    # The last one that predict names is the end of the signal.
    return [int(night) for night in method.fit(signal).predict(**options)[:-1]]


print("ruptures", version("ruptures"))
step = nights(22, 38)
print("Pelt", changes(ruptures.Pelt(model="l2"), step, pen=10))
print("Pelt with jump=1", changes(ruptures.Pelt(model="l2", jump=1), step, pen=10))
print("Binseg, one change asked for", changes(ruptures.Binseg(model="l2"), step, n_bkps=1))
print("KernelCPD, one change asked for", changes(ruptures.KernelCPD(kernel="linear"), step, n_bkps=1))
print("Pelt, the last two of 60", changes(ruptures.Pelt(model="l2"), nights(58, 2), pen=10))
PY
venv/bin/python nights.py | tee seen
grep -qxF "Pelt [20, 25]" seen || changed "Pelt does not find two changes"
grep -qxF "Pelt with jump=1 [22]" seen || changed "jump=1 does not find the change"
grep -qxF "Binseg, one change asked for [20]" seen || changed "Binseg finds another one"
grep -qxF "KernelCPD, one change asked for [22]" seen || changed "KernelCPD does not find the change"
grep -qxF "Pelt, the last two of 60 [55]" seen || changed "Pelt does not date the last nights to 55"
echo "as described"
