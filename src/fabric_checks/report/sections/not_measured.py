# SPDX-License-Identifier: BSD-3-Clause
"""The last section: what was not measured, and records that were left out."""

from __future__ import annotations

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.text import clean
from fabric_checks.report.blocks import Lines, Section, grouped
from fabric_checks.report.findings import not_run
from fabric_checks.report.values import Results


def section(results: Results) -> Section:
    """Return the families that a machine lacks, the suites and cases that were not run, and bad records."""
    lacking = [
        (machine, clean(line))
        for machine, of in results.latest.items()
        for line in not_run(of)
    ]
    having = {(value.machine, value.family) for value in results.values}
    for family in families.KNOWN:
        without = [
            machine for machine in results.machines if (machine, family) not in having
        ]
        if without:
            whom = "" if len(without) == len(results.machines) else ", ".join(without)
            lacking.append(
                (whom, f"{family.partition(':')[0]}: `ci/run --tag {tag(family)}`")
            )
    title = "What was not measured, and how to measure it"
    blocks = [
        Lines("not-measured-list", title, tuple(sorted(grouped(lacking))), "Nothing.")
    ]
    if results.faults:
        blocks.append(
            Lines("faults", "Bad records that were left out", (("", results.faults),))
        )
    return Section("not-measured", "Not measured", tuple(blocks))
