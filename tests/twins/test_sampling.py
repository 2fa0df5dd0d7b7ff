# SPDX-License-Identifier: BSD-3-Clause
"""The options are for programs that there are, and each of them takes its own."""

import pytest

from fabric_twins import sampling
from tests.twins.simulation import SOURCES


def test_every_program_has_options():
    assert set(sampling.OPTIONS) == {file.stem for file in SOURCES.glob("*.c")} - {"placement", "ports"}


@pytest.mark.parametrize("name", sampling.OPTIONS)
def test_a_program_knows_its_options(name):
    source = "".join(file.read_text() for file in (SOURCES / f"{name}.c", *(SOURCES / "common").glob("*.h")))
    for option in sampling.OPTIONS[name][::2]:
        assert f'{{"{option.removeprefix("--")}",' in source
