# SPDX-License-Identifier: BSD-3-Clause
import pytest

from tests.offers import offers


@pytest.fixture(scope="session")
def known():
    """Return what recomputes nothing a second time."""
    return offers.Known()
