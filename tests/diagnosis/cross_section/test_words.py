# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a fabric have names."""

from dataclasses import replace

import numpy as np

from fabric_checks.diagnosis.cross_section import words
from tests.diagnosis.cross_section.test_parts import of_slow

#: How the name of each kind begins, where switches are known and routes are not.
BEGINNINGS = {
    "pair": "n",
    "sender": "node n",
    "receiver": "node n",
    "node": "node n",
    "leaf out": "all uplinks of ",
    "leaf in": "all uplinks of ",
    "leaf": "all uplinks of ",
    "switch": "switch ",
    "uplink": "an uplink of ",
    "downlink": "an uplink of ",
    "link": "an uplink of ",
    "leaf pair": "the way from ",
    "above": "a switch or cable above ",
    "group": "a switch above ",
}


def test_every_kind_has_its_name():
    found, mapped = of_slow((0, 28), (1, 20))
    named = {part.kind: words.of_part(mapped, part).name for part in found}
    assert {
        "pair",
        "node",
        "leaf",
        "switch",
        "downlink",
        "leaf pair",
        "above",
    } <= named.keys()
    assert {
        kind: name
        for kind, name in named.items()
        if not name.startswith(BEGINNINGS[kind])
    } == {}


def test_a_node_without_a_known_adapter_is_told_how_to_name_it():
    """A topology and tables were asked for that the site had given: only the adapter was missing."""
    _, mapped = of_slow((0, 28), (1, 20))
    assert "--adapter" not in words.to_name_it(mapped)
    unclear = replace(mapped, position=np.append(mapped.position[:-1], -1))
    of = f"1 of {len(mapped.position)} ranks"
    assert of in words.to_name_it(unclear) and "--adapter" in words.to_name_it(unclear)


def test_a_link_that_runs_slower_than_its_fellows_is_the_first_to_look_at():
    """A pair was to be measured again, and a line far above had said that the link of one of its nodes runs
    at half the rate of its fellows."""
    found, mapped = of_slow((0, 28), (1, 20))
    pair = next(part for part in found if part.kind == "pair")
    switch = replace(pair, kind="switch", key=(0,))
    host = mapped.known.hosts[mapped.position[pair.key[1]]]
    slow = {f"leaf9 port 4 to {host} mlx5_0 port 1": "at 4xEDR"}
    mapped = replace(mapped, known=replace(mapped.known, slow_links=slow))
    assert words.of_part(mapped, pair).look.startswith("at 4xEDR; measure it again")
    assert "4xEDR" not in words.of_part(mapped, switch).look
