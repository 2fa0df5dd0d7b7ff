# SPDX-License-Identifier: BSD-3-Clause
"""The page docs/metrics.md, from what the checks declare on `rich`, which offers everything.

After a change of a metric:

    . ci/env.sh
    python -m tests.checks.metrics_page     # writes the page anew
"""

import re
import tempfile

import pytest

from fabric_checks.diagnosis.cross_section import metrics as cross_section
from fabric_profile import evaluation
from tests.checks import everything
from tests.conftest import ROOT

PAGE = ROOT / "docs/metrics.md"
HEAD = """\
# Metrics

Each metric of each check, from its declaration; records have the sentence as `meaning`. `python -m
tests.checks.metrics_page` writes this page. A point of a curve ends in its message size, as in `latency_8B`; N stands
for another number, NxP for a layout. Units: MB/s is 10^6 bytes a second, Mmsg/s 10^6 messages a second.

A comparison of one process a node with more, `<check>PpnRatio`, has each of its metrics as `<metric>_ratio`: with
more processes a node over that with one; of a metric that can be 0, such as a share, `<metric>_difference`. N1/2 is
interpolated as in the SAND report, with a line through four points of the curve, two on each side.

| metric | unit | better | what it is | checks |
|---|---|---|---|---|
"""  # noqa: E501  (the text of docs/metrics.md)
#: Metrics that a case has only where it finds what they are of.
ELSEWHERE = {
    "any, with `--profile`": evaluation.METRICS,
    "Rotate, with known switches": cross_section.OF_SWITCHES,
    "RotateOnDevice, with several rails": cross_section.OF_RAILS,
}


def declared(checks):
    """Return the names of the checks of each metric: by its pattern, unit, direction and sentence."""
    found = {}
    for check in checks:
        name = type(check).__name__.removesuffix("OnDevice")
        if not name.endswith("PpnRatio"):
            for metric in check.metrics():
                found.setdefault(row_of(metric), set()).add(name)
    for where, metrics in ELSEWHERE.items():
        found |= {row_of(metric): {where} for metric in metrics}
    return found


def row_of(metric):
    """Return the columns of a metric that are its own."""
    pattern = re.sub(r"_\d+x\d+$", "_NxP", metric.quantity)
    pattern = re.sub(r"(?<=_)\d+$", "N", pattern)
    return pattern, metric.unit, metric.better, metric.about


def text(checks):
    """Return the page."""
    joined = {}
    for (quantity, *rest), names in declared(checks).items():
        joined.setdefault((tuple(rest), tuple(sorted(names))), []).append(quantity)
    rows = sorted(
        (", ".join(f"`{each}`" for each in sorted(quantities)), *rest, some(names))
        for (rest, names), quantities in joined.items()
    )
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def some(names):
    """Return the names of checks, of many the first three."""
    return (
        ", ".join(names)
        if len(names) < 5
        else f"{', '.join(names[:3])} and {len(names) - 3} more"
    )


def main():
    """Write the page."""
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as results,
    ):
        patch.setenv("FABRIC_RESULTS", results)
        PAGE.write_text(text([case.check for case in everything.cases(patch)]))


if __name__ == "__main__":
    main()
