# SPDX-License-Identifier: BSD-3-Clause
"""The extras of partitions and environments: what is misspelt or no value of its kind is one line."""

from types import SimpleNamespace

import pytest

from fabric_checks.core import extras
from fabric_checks.core.extras import EnvironExtras, Extras
from fabric_checks.core.schema import SchemaError


def of(**given):
    return Extras.of(SimpleNamespace(fullname="s:p", extras=given))


def test_a_partition_that_says_nothing_has_one_node_and_one_link():
    found = of()
    assert found.nodes == 1
    assert found.nics == 1
    assert found.link_MBps is None
    assert found.fabric == []
    assert found.launch_options is None


def test_what_reframe_and_other_suites_add_is_left_alone():
    assert of(scheduler="slurm", launcher="srun", cn_memory=825, nics=4).nics == 4


@pytest.mark.parametrize(
    "key, meant",
    [
        ("link_Mbps", "link_MBps"),
        ("LINK_MBPS", "link_MBps"),
        ("fabrics", "fabric"),
        ("nic", "nics"),
        ("program_option", "program_options"),
        ("max_pending", "max_pending_time"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_nearest(key, meant):
    with pytest.raises(
        SchemaError, match=f"^s:p: extras: {key}: unknown; did you mean {meant}\\?"
    ):
        of(**{key: 1})
    assert of(**{key: 1, "others": [key]}).others == (key,)


def test_a_system_of_this_collection_has_no_other_keys():
    with pytest.raises(SchemaError, match="here: ram: unknown; known: nodes, "):
        extras.parse(Extras, {"ram": 1}, "here", only_ours=True)


@pytest.mark.parametrize(
    "key, value, expected",
    [
        (
            "link_MBps",
            -5,
            r"link_MBps is -5; give a number above 0 up to 1e\+09 \(the rate of one link",
        ),
        ("link_MBps", float("nan"), "link_MBps is nan; give a number"),
        ("link_MBps", "25 GB/s", "link_MBps is '25 GB/s'; give a number"),
        ("nics", 0, "nics is 0; give a whole number from 1 to 1000"),
        ("nics", True, "nics is True; give a whole number"),
        ("nodes", "4", "nodes is '4'; give a whole number"),
        (
            "ppn",
            "full",
            "ppn is 'full'; give a list, each a whole number of at least 1 or one of full",
        ),
        (
            "layouts",
            ["2by1"],
            r"layouts: 0 is '2by1'; give a text \(nodes x processes a node, as in 2x4\)",
        ),
        (
            "routing",
            "fixed",
            "routing is 'fixed'; give one of static, adaptive, hashed",
        ),
        ("topology", "net.txt", "topology is 'net.txt'; give a list, each a text"),
        ("fabric", [""], "fabric: 0 is ''; give a text"),
        ("fabric", {"a": 1}, "fabric is {'a': 1}; give a list"),
        ("launch_options", [4], "launch_options: 0 is 4; give a text"),
        (
            "program_options",
            {"osu_bw": "-b multiple"},
            "program_options: osu_bw is '-b multiple'; give a list",
        ),
        (
            "max_pending_time",
            "soon",
            r"max_pending_time is 'soon'; give a text \(.* as in 12h",
        ),
        ("container", {"imag": "x"}, r"container: imag: unknown; did you mean image\?"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_key_and_remedy(key, value, expected):
    with pytest.raises(SchemaError, match=f"^s:p: extras: {expected}"):
        of(**{key: value})


def test_those_of_an_environment_are_held_too():
    with pytest.raises(
        SchemaError, match="^gnu: extras: program: unknown; did you mean programs"
    ):
        EnvironExtras.of(SimpleNamespace(name="gnu", extras={"program": {}}))
