# SPDX-License-Identifier: BSD-3-Clause
"""The verbs and the section of the report that simulated clusters add."""

VERBS = {
    "twin": ("fabric_twins.cli.twin", "Predict what a planned cluster will deliver."),
    "replay": ("fabric_twins.cli.replay", "Predict a traced program's run time on simulated clusters."),
    "replay-series": ("fabric_twins.cli.replay_series", "Predict run times by number of nodes and processes a node."),
    "twins-table": ("fabric_twins.cli.twins_table", "Print published and simulated values of the twins."),
    "twins-references": ("fabric_twins.cli.twins_references", "Write the reference files of the twins."),
}
REPORT_SECTIONS = ("fabric_twins.report.sand",)
SYSTEMS_OF_MACHINES = ("twins",)
