# SPDX-License-Identifier: BSD-3-Clause
"""The verbs and the section of the report that simulated clusters add."""

VERBS = {
    "twin": ("Predict", "fabric_twins.cli", "Predict what a planned cluster will deliver."),
    "replay": ("Predict", "fabric_twins.cli", "Predict a traced program's run time on simulated clusters."),
}
REPORT_SECTIONS = ("fabric_twins.report.sand",)
SYSTEMS_OF_MACHINES = ("twins",)
