# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of our own programs, changed: as the program itself would have printed them, with their check
sum."""

import re

from fabric_checks.parsers import fabric

_LAST = re.compile(r"(?m)^# complete: (\d+) .*\n")


def summed(text):
    """Return an output with the check sum that belongs to its text, so that its values are all that can be
    wrong."""
    start, last = text.index("# fabric-checks "), _LAST.search(text)
    line = fabric.last_line(text[start : last.start()], int(last[1]))
    return text[: last.start()] + line + text[last.end() :]


def changed(text, old, new):
    """Return an output in which something is something else, with its check sum."""
    assert old in text
    return summed(text.replace(old, new, 1))
