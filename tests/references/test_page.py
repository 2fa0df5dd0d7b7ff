# SPDX-License-Identifier: BSD-3-Clause
"""The example of references in docs/adding-a-system.md is one that OSU 7.5 is judged by, from 1 B on."""

import re
from textwrap import dedent

from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.references import lookup, reference_file
from tests.conftest import GOLDEN
from tests.references import records


def test_the_example_of_the_page_has_no_fault(tmp_path):
    page = (ROOT / "docs/adding-a-system.md").read_text()
    (example,) = re.findall(r"^    OsuLatency:\n(?:    .*\n)+", page, re.MULTILINE)
    file = records.load(tmp_path, dedent(example))
    printed = (GOLDEN / "osu/7.4/osu_latency.txt").read_text()
    sizes = re.findall(r"^(\d+)\s+[\d.]+$", printed, re.MULTILINE)
    assert sizes[0] == "1"
    latency = [Metric(f"latency_{size}B", "us", "smaller") for size in sizes]
    place = {"$partition": "yours:compute", "$environ": "openmpi-site"}
    reference_file.require_known(
        file,
        ["OsuLatency", "Streaming"],
        {**{name: [value] for name, value in place.items()}, "layout": ["1x2", "2x1"]},
    )
    for check, layout, metrics in (
        ("OsuLatency", "2x1", latency),
        ("OsuLatency", "1x2", latency),
        ("Streaming", "2x1", [Metric("t", "us", "smaller")]),
    ):
        entry = file.entries.get(check) or {}
        own = {**place, "layout": layout}
        found = lookup.descend(entry, own.get)[1]
        of = {"check": check, "partition": "yours:compute", "environ": "openmpi-site"}
        complete, reasons = reference_file.complete(
            file, found, metrics, layout=layout, **of
        )
        assert len(complete) == len(metrics)
        assert (len(reasons) < len(metrics)) == bool(found)
    assert set(re.findall(r"`(check|partition|environ|layout|metric|why)`", page)) == {
        "check",
        "partition",
        "environ",
        "layout",
        "metric",
        "why",
    }
