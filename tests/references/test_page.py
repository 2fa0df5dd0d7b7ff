# SPDX-License-Identifier: BSD-3-Clause
"""The example of references in docs/adding-a-system.md is one that OSU 7.5 is judged by, from 1 B on."""

import re
from textwrap import dedent

from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.references import audit
from fabric_checks.references.cases import Case
from tests.conftest import GOLDEN
from tests.references import records


def case(check, layout, *metrics):
    own = {"$partition": "yours:compute", "$environ": "openmpi-site", "layout": layout}
    return Case(
        check, "yours:compute", "openmpi-site", layout, "yours", Extras(), own, metrics
    )


def test_the_example_of_the_page_has_no_fault(tmp_path):
    page = (ROOT / "docs/adding-a-system.md").read_text()
    (example,) = re.findall(r"^    OsuLatency:\n(?:    .*\n)+", page, re.MULTILINE)
    file = records.load(tmp_path, dedent(example))
    printed = (GOLDEN / "osu/7.4/osu_latency.txt").read_text()
    sizes = re.findall(r"^(\d+)\s+[\d.]+$", printed, re.MULTILINE)
    assert sizes[0] == "1"
    latency = [Metric(f"latency_{size}B", "us", "smaller") for size in sizes]
    cases = [
        case("OsuLatency", "2x1", *latency),
        case("OsuLatency", "1x2", *latency),
        case("Streaming", "2x1", Metric("t", "us", "smaller")),
    ]
    assert audit.of_file(file, ["OsuLatency", "Streaming"], cases) == []
    assert set(re.findall(r"`(check|partition|environ|layout|metric|why)`", page)) == {
        "check",
        "partition",
        "environ",
        "layout",
        "metric",
        "why",
    }
