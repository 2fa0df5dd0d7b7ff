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
