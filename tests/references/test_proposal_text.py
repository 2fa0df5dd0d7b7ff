# SPDX-License-Identifier: BSD-3-Clause
"""The comments and the report of proposals, word by word."""

from fabric_checks.references import proposal_text
from tests.references.records import STANDING, bandwidth, proposed, record

HELD = STANDING.format(reference="[1.0, null, 0.02, us]")


def comment(tmp_path, records, text="no_reference: [{why: none}]\n"):
    (found,) = proposed(tmp_path, records, text)
    return proposal_text.comment(found)


def test_runs_of_one_day_name_it_once(tmp_path):
    records = [
        record(0, session=f"20261101T00000{number}Z-aaaa") for number in range(5)
    ]
    assert comment(tmp_path, records).startswith(
        "from 5 passes in 5 runs 2026-11-01, 2 nodes"
    )


def test_the_program_is_that_of_the_last_run(tmp_path):
    records = [record(day, program_version=f"7.{day}") for day in range(5)]
    assert comment(tmp_path, records).endswith("2 nodes n1 n2, osu 7.4")


def test_of_many_nodes_the_first_are_named(tmp_path):
    def nodes(*names):
        return comment(
            tmp_path, [record(day, nodelist=list(names)) for day in range(5)]
        ).split(", ")[1]

    assert nodes("n1") == "1 node n1"
    assert nodes("n1", "n2", "n3", "n4") == "4 nodes n1 n2 n3 n4"
    assert nodes("n1", "n2", "n3", "n4", "n5") == "5 nodes n1 n2 n3 n4 and 1 more"


def test_only_what_is_looser_says_what_it_was(tmp_path):
    assert "LOOSENED: was [1.0, null, 0.02, us]" in comment(
        tmp_path, [record(day) for day in range(5)], HELD
    )
    better = comment(tmp_path, [record(day, 0.9) for day in range(20)], HELD)
    assert "LOOSENED" not in better and "missed" not in better


def test_runs_that_missed_a_reference_are_counted(tmp_path):
    missed = [record(day, 1.4, result="fail", case_result="fail") for day in (5, 6)]
    found = proposed(tmp_path, [*(record(day) for day in range(5)), *missed])
    assert "2 of them missed a reference" in proposal_text.comment(found[0])


def test_the_report_has_what_is_left_out_then_the_counts(tmp_path):
    records = [
        *(record(day) for day in range(5)),
        *(
            bandwidth(day, metric=f"bandwidth_{size}B")
            for size in (8, 16, 32)
            for day in range(2)
        ),
        *(bandwidth(day, metric="bandwidth_64B") for day in range(5)),
    ]
    found = proposed(tmp_path, records, HELD)
    assert proposal_text.report(found) == [
        (
            "refused: OsuBandwidth %benchmark=bw %layout=2x1 @yours:compute+mpich-cray: bandwidth_8B and 2"
            " more: 2 passes, but 5 are needed"
        ),
        "5 series: 1 new, 1 loosened, 3 refused",
    ]


def test_a_busy_machine_is_warned_about(tmp_path):
    def warnings(values, **changes):
        found = proposed(
            tmp_path,
            [
                record(day, value, host_cores=2, **changes)
                for day, value in enumerate(values)
            ],
        )
        return [
            line for line in proposal_text.report(found) if line.startswith("warning")
        ]

    idle = {"runnable_processes_before": 1, "runnable_processes_after": 1}
    assert warnings([1.3, 1.3, 1.31, 1.3, 1.9], **idle) == []
    assert warnings(
        [1.3] * 5, runnable_processes_before=20, runnable_processes_after=18
    ) == [
        "warning: 1 of the proposals use values of passes on a busy machine, which say little; measure again"
        " when it is idle"
    ]
