# SPDX-License-Identifier: BSD-3-Clause
"""Plans: alternatives differ in what they say and in nothing else, and a wrong plan gets one line."""

import pytest

from fabric_twins import plan
from fabric_twins.errors import TwinError
from tests.twins.conftest import SMALL
from tests.twins.simulation import TWINS


@pytest.fixture
def load(tmp_path):
    def of(added, text=SMALL):
        file = tmp_path / "p.yaml"
        file.write_text(text + added)
        return plan.load(file)

    return of


def test_a_description_alone_is_a_plan(load):
    (only,) = load("")
    assert only.name == "as described" and only.twin.nodes == 8


def test_an_alternative_differs_in_its_keys_alone(load):
    first, slow, wide = load(
        "plan: as bought\nalternatives:\n"
        "- {name: slow host, faults: [{host: n1, fraction: 0.5}]}\n"
        "- {name: wide links, inter_node: {rate_MBps: 400}, topology: {link_MBps: 400}}\n"
    )
    assert first.name == "as bought"
    assert slow.name == "slow host"
    assert wide.name == "wide links"
    assert not first.twin.faults and slow.twin.faults[0].ends == (("n1",),)
    assert slow.twin.topology == first.twin.topology
    assert slow.twin.inter_node == first.twin.inter_node
    assert wide.twin.inter_node.rate_MBps == wide.twin.topology.link_MBps == 400
    assert wide.twin.inter_node.send_us == first.twin.inter_node.send_us
    assert not wide.twin.faults


def test_another_kind_replaces_the_section_and_null_takes_a_key_away(load):
    _, star, bare, table = load(
        "faults: [{host: n1, fraction: 0.5}]\nalternatives:\n"
        "- {name: star, topology: {kind: star}}\n"
        "- {name: healthy, faults: null}\n"
        "- {name: one cost for all sizes, inter_node: {send_us: {0: 5}}}\n"
    )
    assert star.twin.topology.nodes == 8 and not hasattr(star.twin.topology, "ports")
    assert not bare.twin.faults and star.twin.faults
    assert table.twin.inter_node.send_us == ((0, 5.0),)


@pytest.mark.parametrize(
    "added, message",
    [
        (
            "alternatives: [{faults: []}]\n",
            r"alternatives: 0: name is missing; give each alternative one",
        ),
        (
            "alternatives: [{name: x}]\n",
            r"alternatives: 0: does not differ; write the keys",
        ),
        (
            "alternatives: [{name: as described, nodes: 4}]\n",
            r"alternatives: 0: name: 'as described' is there alread",
        ),
        (
            "alternatives: [{name: x, values: {}}]\n",
            r"alternatives: 0: values: cannot differ; remove it",
        ),
        (
            "alternatives: [{name: x, faults: null}]\n",
            r"alternatives: 0: faults: is removed here, but does not exist",
        ),
        (
            "alternatives: [{name: x, topology: {port: 8}}]\n",
            r"p\.yaml: alternatives: 0 \(x\): topology: port: unknown; did you mean ports\?",
        ),
        (
            (
                "alternatives: [{name: x, faults: [{switch: level-2-0, fraction: 0}, {switch: level-2-1,"
                " fraction: 0}]}]\n"
            ),
            (
                r"p\.yaml: alternatives: 0 \(x\): topology: routing: host n\d cannot be reached from .*;"
                r" remove the"
            ),
        ),
    ],
)
def test_a_wrong_plan_gets_one_line(load, added, message):
    with pytest.raises(TwinError, match=message) as caught:
        load(added)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_mapping(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("[1, 2]\n")
    with pytest.raises(TwinError, match=r"p\.yaml is \[1, 2\]; give a mapping"):
        plan.load(file)


@pytest.mark.parametrize(
    "file", sorted(TWINS.glob("examples/*.yaml")), ids=lambda file: file.stem
)
def test_the_examples_are_plans_with_alternatives(file):
    assert len(plan.load(file)) == 5
