# SPDX-License-Identifier: BSD-3-Clause
"""The quick tests, of `ci/test --quick`: those that start no program of ours, and are done in a few minutes.

So they need no MPI, no cluster, no scheduler, no store and no browser. A module is quick unless it imports
one that starts programs, itself or by a module of the tests, or is left out below with a reason. This is
decided by its source; and in a quick module no test can start a program, in any run: the interpreter refuses.
"""

import ast
import sys
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent
#: Modules and folders that are not quick although they import nothing that starts programs, and why.
LEFT_OUT = {
    "reframe_ext": "ReFrame is started, which is a program",
    "schedulers": "stand-ins of schedulers are programs",
    "core/test_module_run.py": "a module is run in a process of its own",
    "onboarding/test_probe.py": "tools are asked, which are programs",
    "nightly/wall/test_news.py": "commands of a site are called, which are programs",
    "profile/test_library_build.py": "a build is tried, which is a program",
    "checks": "all cases of all systems are set up, which takes minutes",
    "report": "pages are drawn, and opened in a browser",
    "offers/test_recomputation.py": "it is a program that recomputes",
    "test_golden_sessions.py": "values of offers are recomputed by a program",
}
#: Packages that start programs.
STARTERS = {"subprocess", "multiprocessing", "playwright"}
#: Audit events of the interpreter when a program is started.
EVENTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.spawn"}
#: Programs that a quick test may start: git has the version of the collection.
HARMLESS = {"git"}


@cache
def is_quick(path: Path) -> bool:
    """Return whether a module of tests is quick, by its source."""
    if any(TESTS / name in (path, *path.parents) for name in LEFT_OUT):
        return False
    conftests = [
        folder / "conftest.py" for folder in path.parents if TESTS in folder.parents
    ]
    seen: set[Path] = set()
    return not any(
        _starts_programs(path, seen) for path in (path, *conftests) if path.exists()
    )


def _starts_programs(path: Path, seen: set[Path]) -> bool:
    seen.add(path)
    names = _imports(path)
    if any(name.split(".")[0] in STARTERS for name in names):
        return True
    ours = [name for name in names if name.split(".")[0] in ("tests", "ci", "lab")]
    others = [TESTS.parent / Path(*name.split(".")).with_suffix(".py") for name in ours]
    return any(
        _starts_programs(other, seen)
        for other in others
        if other.exists() and other not in seen
    )


@cache
def _imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += (
                node.module,
                *(f"{node.module}.{alias.name}" for alias in node.names),
            )
        # Statements alone, for expressions are many and import nothing.
        left += (
            each
            for name in ("body", "orelse", "finalbody", "handlers", "cases")
            for each in _list(node, name)
        )
    return tuple(found)


def _list(node: ast.AST, name: str) -> list[ast.AST]:
    found = getattr(node, name, [])
    return found if isinstance(found, list) else []


class Guard:
    """Refuses to start programs while a quick test runs."""

    def __init__(self):
        self.refuses = False
        sys.addaudithook(self._see)

    def _see(self, event, arguments):
        if (
            self.refuses
            and event in EVENTS
            and (program := _program(arguments)) not in HARMLESS
        ):
            raise AssertionError(
                f"a quick test starts {program!r}; without it, or with the module under LEFT_OUT in"
                " tests/quick.py"
            )


def _program(arguments):
    """Return the name of the program of an audit event."""
    words = next(
        (part for part in arguments[1:2] if isinstance(part, list | tuple) and part),
        arguments[:1],
    )
    first = (
        words[0]
        if not isinstance(words[0], bytes)
        else words[0].decode(errors="replace")
    )
    return Path(str(first).split()[0] if first else "").name
