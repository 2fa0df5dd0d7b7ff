# SPDX-License-Identifier: BSD-3-Clause
"""One simulator for all tests of a module, and descriptions to break."""

import pytest

from fabric_twins.model import description
from tests.twins.simulation import Simulator

SMALL = """\
name: small
about: a twin for tests
source: {assumed: for tests}
nodes: 8
cpus_per_node: 2
inter_node:
  send_us: {0: 1, 1024: 2}
  receive_us: 1
  latency_us: 3
  rate_MBps: 100
  eager_below_B: 16384
topology:
  kind: fat_tree
  ports: 4
  levels: 3
  link_MBps: 100
  routing: {kind: d-mod-k}
"""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    return Simulator(tmp_path_factory.mktemp("simulator"))


@pytest.fixture
def small(tmp_path):
    """Return a function that loads a small twin, some of its text replaced and some added."""

    def load(*replacements, added=""):
        text = SMALL
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "small.yaml"
        file.write_text(text + added)
        return description.load(file)

    return load
