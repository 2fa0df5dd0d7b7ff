# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks demo``: saved results of a cluster with a slow node, analysed and reported anew."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabric_checks.cli.verb import FAILED, output_option, verb
from fabric_checks.core import console, files, paths
from fabric_checks.records import runs
from fabric_checks.records.sources import Source
from fabric_checks.report.page import report
from fabric_checks.report.terminal import blame

#: What a run of a test cluster left, unedited but for the paths of its files.
RESULTS = paths.ROOT / "config" / "demo" / "results.tar.xz"
_ABOUT = (
    "A replay: nothing is measured here. These are the outputs of a run on 2026-11-26 on a test cluster,",
    "eight nodes (n1 to n8) on one machine, while the link of n3 was limited to half the rate of the others.",
    "They are analysed now, by this version; the analysis is told nothing of that limit.",
)
_NEXT = (
    "next     ci/run                        measures this machine",
    "         ci/run --system minicluster   starts such a cluster on this machine (Linux with Slurm)",
    "         fabric-checks init            writes the configuration of your system",
)

_EPILOG = """
\b
Examples:
  fabric-checks demo                    its report is demo.html
  fabric-checks demo -o /tmp/demo.html
"""


@verb("demo", _EPILOG, {FAILED: "the report cannot be written"})
@output_option("demo.html")
def command(*, output: Path) -> None:
    """Show how a slow node is named, from saved results of a small cluster."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        safely: dict[str, Any] = (
            {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        )
        with tarfile.open(RESULTS) as archive:
            archive.extractall(folder, **safely)
        judged, _ = blame.load(sorted(folder.rglob("rfm_job.out")), None)
        slow = next(each for each in judged if each.report.has_faults)
        shown = replace(slow, run=replace(slow.run, files=("saved output",)))
        source = Source("demo", folder)
        session = runs.load_session(folder, None)
        title = "A test cluster of eight nodes, one of them slow (a replay)"
        text, _ = report([source], title, published=False, session=session)
    files.write_text(output, text)
    lines = (*_ABOUT, "", *blame.as_lines([shown], ""), "")
    console.print(*lines, f"report   {output.absolute()}", *_NEXT)
