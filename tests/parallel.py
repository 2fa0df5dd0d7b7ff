# SPDX-License-Identifier: BSD-3-Clause
"""The order in which several processes run the tests (`ci/test`): tests that wait alternate with those that
compute.

Tests of a cluster mostly wait: they come first, each followed by one that computes, then all others, quick
ones last. Tests that share a fixture stay together, in one process; others are distributed one by one. Tests
that measure have the mark ``alone`` and are not run in this way.
"""

from functools import cache
from itertools import chain, zip_longest

from xdist.scheduler import LoadScopeScheduling

from tests import quick

ROOT = quick.TESTS.parent
#: Folders whose tests mostly wait, for a cluster or for jobs in it.
WAITING = {"cluster", "pipelines"}
#: Modules whose tests share nothing, though others beside them do.
ONE_BY_ONE = {
    ROOT / "tests/cluster/test_smoke.py",
    ROOT / "tests/twins/test_published.py",
}


class Scheduling(LoadScopeScheduling):
    """Distributes groups in the order of :func:`arrange`."""

    def _split_scope(self, nodeid):
        return group(nodeid)


def arrange(items):
    """Return tests in the order of their distribution."""
    groups = {}
    for item in items:
        groups.setdefault(group(item.nodeid), []).append(item)
    waiting, computing, rest = [], [], []
    for members in groups.values():
        path = members[0].path
        if quick.is_quick(path):
            rest.append(members)
        elif WAITING & set(path.parts):
            waiting.append(members)
        else:
            computing.append(members)
    alternating = chain.from_iterable(zip_longest(waiting, computing, fillvalue=[]))
    return list(chain.from_iterable([*alternating, *rest]))


def group(nodeid):
    """Return the group of a test: its module, or the test alone."""
    module = nodeid.split("::")[0]
    return module if _stays_together(ROOT / module) else nodeid


@cache
def _stays_together(path):
    """Return whether tests of a module share fixtures, or are too short to be distributed one by one."""
    if path in ONE_BY_ONE:
        return False
    files = [
        path,
        *([] if path.parent == quick.TESTS else [path.with_name("conftest.py")]),
    ]
    texts = [file.read_text() for file in files if file.exists()]
    return any(
        'scope="' in text or "@cache" in text for text in texts
    ) or quick.is_quick(path)
