# SPDX-License-Identifier: BSD-3-Clause
"""How tests are dealt out where several processes run them (`ci/test`): what waits beside what computes.

Tests of a cluster mostly wait: they come first, each followed by one that computes, then all others, quick ones last.
Tests that share a fixture stay together, in one process; others are dealt out one by one. What measures has the mark
``alone`` and is not run in this way at all.
"""

from functools import cache
from itertools import chain, zip_longest

from xdist.scheduler import LoadScopeScheduling

from tests import quick

ROOT = quick.TESTS.parent
#: Folders whose tests mostly wait, for a cluster or for jobs in it.
WAITING = {"cluster", "pipelines"}
#: Modules whose tests share nothing, though others beside them do.
ONE_BY_ONE = {ROOT / "tests" / "cluster" / "test_smoke.py"}


class Scheduling(LoadScopeScheduling):
    """Deals out groups in the order of :func:`arrange`."""

    def _split_scope(self, nodeid):
        return group(nodeid)


def arrange(items):
    """Return tests in the order in which to deal them out."""
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
    """Return what a test stays together with: its module, or nothing but itself."""
    module = nodeid.split("::")[0]
    return module if _stays_together(ROOT / module) else nodeid


@cache
def _stays_together(path):
    """Tell whether tests of a module share what they are made of, or are too short to be dealt out one by one."""
    if path in ONE_BY_ONE:
        return False
    places = [path, *([] if path.parent == quick.TESTS else [path.with_name("conftest.py")])]
    shares = any('scope="' in place.read_text() or "@cache" in place.read_text() for place in places if place.exists())
    return shares or quick.is_quick(path)
