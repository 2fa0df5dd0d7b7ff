# SPDX-License-Identifier: BSD-3-Clause
"""Add the verbs of simulated clusters, and their section of the report."""

VERBS = {
    "twin": (
        "Predict",
        "fabric_twins.cli",
        "Predict what a planned cluster will deliver.",
    ),
    "replay": (
        "Predict",
        "fabric_twins.cli",
        "Predict a traced program's run time on simulated clusters.",
    ),
}
REPORT_SECTIONS = ("fabric_twins.sand",)
SYSTEMS_OF_MACHINES = ("twins",)
