# SPDX-License-Identifier: BSD-3-Clause
"""Damaged outputs at random: parsers raise nothing but OutputError, and accept no text that contradicts itself.

A million for each parser: ``python -m lab.parsers.fuzz all 1000000``.
"""

import pytest

from lab.parsers import fuzz
from tests.parsers import corpus


@pytest.mark.parametrize("parser", corpus.OUTPUTS)
def test_whole_outputs_are_read_and_keep_what_the_oracle_asks(parser):
    wholes = list(corpus.OUTPUTS[parser]())
    assert wholes
    for whole in wholes:
        assert fuzz.tried(whole, whole.text, parser) == (True, None), whole.name


@pytest.mark.parametrize("parser", corpus.OUTPUTS)
def test_mutated_outputs(parser):
    accepted, wrong = fuzz.run(parser, 500, seed=1)
    assert not wrong
    assert 0 < accepted < 500
