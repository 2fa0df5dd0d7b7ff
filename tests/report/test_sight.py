# SPDX-License-Identifier: BSD-3-Clause
"""What a run would have found, and when it is blind."""

from fabric_checks.report import sight
from tests.nightly.samples import MACHINE, record

IDLE = "run it while nobody else does, as in a reservation"


def blind(of_cases, nodes=8):
    """Return the lines and the notes of cases with limits by their names."""
    names = {name: f"{name} @{MACHINE}" for name in of_cases}
    return sight.blind(
        {
            names[name]: [record(name, limits=of, nodes=nodes)]
            for name, of in of_cases.items()
        }
    )


def test_a_partition_is_blind_if_none_of_its_cases_would_have_named_a_slow_node():
    lines, notes = blind({"S": dict(node=0.48), "R": dict(node=0.3)})
    assert lines == [
        f"values of 2 cases, the first R @{MACHINE} vary too much on part: only a node that had lost"
        f" more than 30 % of its rate would have been noticed; {IDLE}"
    ]
    assert notes == []
    (line,) = blind({"R": dict(node=None)})[0]
    assert (
        "too much on part: no slow node would have been noticed; " in line
        and len(line.split()) <= 30
    )
    # Where another case sees, the one that does not is noted, and so is one that sees little.
    dim = f"values vary too much to name a node slower by a tenth: {{}}; {IDLE}"
    assert blind({"S": dict(node=0.48), "R": dict(node=0.09)}) == (
        [],
        [dim.format(f"S @{MACHINE}")],
    )
    both = blind({"S": dict(node=0.48), "R": dict(node=0.2)})
    assert both == ([], [dim.format(f"2 cases, the first R @{MACHINE}")])
    (line,) = blind({"R": dict(node=0.09), "M": dict(node_us=None, pair_us=None)})[0]
    assert "too much on part: no node far away would have been noticed; " in line


def test_too_few_nodes_are_noted_and_leave_nobody_blind():
    few = (
        "fewer than 4 nodes are too few to name a slow one: {}; take a level with more"
    )
    assert blind({"R": dict(node=None)}, nodes=2) == ([], [few.format(f"R @{MACHINE}")])
    two = blind({"R": dict(node=None), "S": dict(node=None)}, nodes=3)
    assert two == ([], [few.format(f"2 cases, the first R @{MACHINE}")])
    assert blind({"R": dict(node=0.05)}) == ([], [])
