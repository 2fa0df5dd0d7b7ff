# SPDX-License-Identifier: BSD-3-Clause
"""The quick tests, of `ci/test --quick`: those that start no program but git.

So they need no MPI, no cluster, no scheduler, no store and no browser. A module is quick unless it imports what starts
programs, itself or by a module of the tests. That can be told without loading it; and while quick tests run, the
interpreter refuses to start a program, so that one which does so in another way fails.
"""

import ast
import sys
from functools import lru_cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
#: What programs are started with.
STARTERS = {"subprocess", "multiprocessing", "playwright"}
#: What the interpreter calls it when a program is started.
EVENTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.spawn"}
#: Programs that a quick test may start: the version of the collection is asked from git.
HARMLESS = {"git"}


@lru_cache(maxsize=None)
def is_quick(path: Path) -> bool:
    """Tell whether a module of tests starts no program, as far as its imports tell."""
    places = {folder / "conftest.py" for folder in path.parents if TESTS in (folder, *folder.parents)}
    places |= {path}
    return not any(_starts_programs(place, frozenset()) for place in places if place.exists())


def _starts_programs(path: Path, seen: frozenset[Path]) -> bool:
    for name in _imports(path):
        if name.split(".")[0] in STARTERS:
            return True
        if name.split(".")[0] in ("tests", "ci"):
            other = TESTS.parent / Path(*name.split(".")).with_suffix(".py")
            if other.exists() and other not in seen | {path} and _starts_programs(other, seen | {path}):
                return True
    return False


def _imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def refuse_programs():
    """From now on, let this process start no program but the harmless ones."""

    def refuse(event, arguments):
        if event in EVENTS and (program := _program(arguments)) not in HARMLESS:
            raise AssertionError(f"a quick test starts {program!r}; import subprocess in its module, so that it is none")

    sys.addaudithook(refuse)


def _program(arguments):
    """Return the name of the program that an event of the interpreter is about."""
    first = arguments[0]
    if len(arguments) > 1 and isinstance(arguments[1], list | tuple) and arguments[1]:
        first = arguments[1][0]
    return Path(str(first).split()[0] if first else "").name
