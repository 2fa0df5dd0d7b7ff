# SPDX-License-Identifier: BSD-3-Clause
"""Define the verdict on a run or a night: one word, computed once, first on every surface."""

from __future__ import annotations

from enum import Enum


class Verdict(str, Enum):
    """How a run or a night ended, the worst first."""

    #: It says little about the machine: no case ran, or no value came.
    FAILED = "failed"
    #: It ended before all of its cases had run.
    INCOMPLETE = "incomplete"
    #: Something is worse than it should be, or than it was.
    FINDINGS = "findings"
    #: Nothing was found, and no slow node would have been.
    BLIND = "blind"
    #: Other processes had the cores, so that values say little.
    BUSY = "busy"
    #: Nothing is wrong.
    PASSED = "passed"

    @property
    def exit_status(self) -> int:
        """Return the exit status of a night with this verdict."""
        return _STATUS.get(self, 0)


_STATUS = {
    Verdict.FAILED: 1,
    Verdict.INCOMPLETE: 1,
    Verdict.FINDINGS: 3,
    Verdict.BLIND: 4,
}


def verdict(
    *, failed: object = False, incomplete: object = False, findings: object = False, blind: object = False,
    busy: object = False,
) -> Verdict:  # fmt: skip
    """Return the verdict: the worst of what is true."""
    given = (failed, incomplete, findings, blind, busy, True)
    return next(each for each, is_so in zip(Verdict, given, strict=True) if is_so)
