# SPDX-License-Identifier: BSD-3-Clause
"""The verdict on a run or a night: the worst of what is true."""

import pytest

from fabric_checks.core.verdict import Verdict, verdict


@pytest.mark.parametrize(
    "given, word, status",
    [
        ((), "passed", 0),
        (("busy",), "busy", 0),
        (("busy", "blind"), "blind", 4),
        (("blind", "findings"), "findings", 3),
        (("findings", "incomplete"), "incomplete", 1),
        (("incomplete", "failed", "findings", "blind", "busy"), "failed", 1),
    ],
)
def test_the_worst_counts(given, word, status):
    found = verdict(**dict.fromkeys(given, True))
    assert found == Verdict(word)
    assert found.exit_status == status
