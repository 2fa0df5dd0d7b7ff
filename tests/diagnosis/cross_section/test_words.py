# SPDX-License-Identifier: BSD-3-Clause
"""What a part is called."""

from fabric_checks.diagnosis.cross_section import words
from tests.diagnosis.cross_section.test_parts import of_slow

#: How the name of each kind begins, of a fabric of which the switches are known and the ways are not.
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
}


def test_every_kind_has_its_name():
    found, mapped = of_slow((0, 28), (1, 20))
    hosts = tuple(f"n{number:02}" for number in range(32))
    said = {part.kind: words.of_part(mapped, hosts, part).name for part in found}
    assert {"pair", "node", "leaf", "switch", "downlink", "leaf pair", "above"} <= said.keys()
    assert {kind: name for kind, name in said.items() if not name.startswith(BEGINNINGS[kind])} == {}


def test_many_names_are_cut_and_few_are_not():
    names = [f"n{number}" for number in range(words.MOST_NAMES + 1)]
    assert words.listed(names[:-1]) == "n0, n1, n2, n3, n4, n5"
    assert words.listed(names) == "n0, n1, n2, n3, n4 and 2 more"
