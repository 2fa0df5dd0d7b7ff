# SPDX-License-Identifier: BSD-3-Clause
"""Do the quick tests notice when the library says something else? Called by ci/mutants, which tells how.

Cosmic Ray knows what can be changed, and changes it. A place of the source counts once, however many operators change
it: with each possible mutant alike, three of four would replace an arithmetic operator. What cannot be seen in a run,
as an annotation, is no mutant. A mutant is judged by the quick tests in the folder of tests that mirrors its package
and by those that import its module, beginning with those of its name.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import hypothesis  # noqa: F401
import matplotlib.figure  # noqa: F401
import polars  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [
    *("parsers", "culprits/cross_section", "analysis/statistics", "comparison", "comparison/changes", "references"),
    *("store", "nightly", "software/spack"),
]
KILLED, SURVIVED = "killed", "SURVIVED"
#: What the tests of no module need: a mutant that computes or takes more than this, or waits so long, is killed. CPU
#: time is judged and not the clock, so that a loaded machine kills nothing.
CPU_S, MEMORY_B, WAIT_S = 120, 16 * 2**30, 3600


class Exchange(Operator):
    """Another function of the same arguments, which Cosmic Ray has not."""

    OTHER = MappingProxyType({"any": "all", "all": "any", "min": "max", "max": "min"})

    def mutation_positions(self, node):
        if node.type == "name" and node.value in self.OTHER and node.get_next_leaf() == "(":
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        node.value = self.OTHER[node.value]
        return node

    @classmethod
    def examples(cls):
        return ()


def name_of(operator: Operator) -> str:
    return type(operator).__name__


CORE = [plugins.get_operator(name) for name in sorted(plugins.operator_names())]
OPERATORS = [*(each() for each in CORE if not each.arguments()), Exchange()]
#: Those of one arithmetic operator are at the same places; looking there once takes a tenth of the time.
ALIKE = [
    list(group) for _, group in itertools.groupby(OPERATORS, lambda each: re.sub("(Binary.*)_.*", r"\1", name_of(each)))
]


@dataclass(frozen=True)
class Mutant:
    """A module that says something else, from one line on."""

    path: Path
    line: int
    operator: str
    source: str
    mutated: str

    def difference(self) -> list[str]:
        """Return the lines that differ."""
        lines = difflib.unified_diff(self.source.splitlines(), self.mutated.splitlines(), n=0, lineterm="")
        return [line for line in lines if line[:3] not in ("---", "+++", "@@ ")]


def meaning(source: str) -> str | None:
    """Return what a source says when it is run, without annotations and marks of arguments. None if it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Constant(None) if isinstance(node, ast.AnnAssign) else None)
        if isinstance(node, ast.arguments):  # the marks `*` and `/` are taken for operators
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults = [*node.defaults, *filter(None, node.kw_defaults)]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
    return ast.dump(tree)


class Module:
    """A module's places, and the mutants that are there."""

    def __init__(self, path: Path):
        self.path, self.source = path, path.read_text()
        self.before = meaning(self.source)
        nodes = list(ast_nodes(get_ast(self.source)))
        self.places = defaultdict(list)
        for operators in ALIKE:
            positions = [at for node in nodes for at in operators[0].mutation_positions(node)]
            for occurrence, place in enumerate(positions):
                self.places[place] += [(operator, occurrence) for operator in operators]

    def mutant(self, choose: random.Random, place) -> Mutant | None:
        """Return one of the mutants of a place, None if there is none that a run could tell."""
        candidates = list(self.places[place])
        choose.shuffle(candidates)
        for operator, occurrence in candidates:
            mutated = mutate_code(self.source, operator, occurrence)
            if mutated and meaning(mutated) not in (None, self.before):
                return Mutant(self.path, place[0][0], name_of(operator), self.source, mutated)
        return None


def sample(library: Path, packages: list[str], seed: int, count: int) -> list[Mutant]:
    """Return ``count`` mutants, of each package in proportion to its places.

    Each package has its own draw, so that a change of one leaves the mutants of the others as they were.
    """
    modules = {name: [Module(path) for path in sorted((library / name).glob("*.py"))] for name in packages}
    sizes = {name: sum(len(module.places) for module in modules[name]) for name in packages}
    chosen = []
    for number, name in enumerate(packages):
        before, after = (sum(sizes[each] for each in packages[:end]) for end in (number, number + 1))
        wanted = round(count * after / sum(sizes.values())) - round(count * before / sum(sizes.values()))
        choose = random.Random(f"{seed} {name}")
        places = [(module, place) for module in modules[name] for place in sorted(module.places)]
        choose.shuffle(places)
        drawn = (found for module, place in places if (found := module.mutant(choose, place)))
        chosen += sorted(itertools.islice(drawn, wanted), key=lambda each: (each.path, each.line))
    return chosen


def tests_of(module: Path, folder: Path) -> list[str]:
    """Return the quick modules of tests that concern a module, those of its name first."""
    from tests import quick

    name = ".".join(module.relative_to(folder).with_suffix("").parts)
    mirror = folder / "tests" / module.parent.relative_to(folder / "fabric_checks")

    def concerns(path: Path) -> bool:
        imported = set(quick._imports(path))
        ours = {folder.joinpath(*each.split(".")).with_suffix(".py") for each in imported if each.startswith("tests.")}
        return name in imported or any(name in quick._imports(other) for other in ours if other.exists())

    every = [path for path in sorted((folder / "tests").rglob("test_*.py")) if quick.is_quick(path)]
    wanted = [path for path in every if mirror in path.parents or concerns(path)]
    wanted.sort(key=lambda path: (path.stem != f"test_{module.stem}", mirror not in path.parents, path.stat().st_size))
    return [str(path.relative_to(folder)) for path in wanted]


def passes(tests: list[str], log: Path, *, bounded: bool = True) -> bool:
    """Run tests in a process that has loaded what they use of others; the library they load themselves."""
    child = os.fork()
    if child == 0:
        if bounded:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_B, MEMORY_B))
            signal.alarm(WAIT_S)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = 99
        try:
            code = pytest.main(["-x", "-q", "--quick", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests])
        finally:
            os._exit(int(code))
    return os.waitpid(child, 0)[1] == 0


def judged(mutant: Mutant, tests: list[str], log: Path) -> str:
    """Say whether tests fail with a mutant; most do in the first module, so that the others are not even loaded."""
    mutant.path.write_text(mutant.mutated)
    try:
        return SURVIVED if all(passes(part, log) for part in (tests[:1], tests[1:]) if part) else KILLED
    finally:
        mutant.path.write_text(mutant.source)


def report(mutants: list[Mutant], library: Path, log: Path) -> None:
    """Judge mutants and print what comes of each, and the totals."""
    folder = library.parent
    tests = {path: tests_of(path, folder) for path in {each.path for each in mutants}}
    if not passes(sorted({path for each in tests.values() for path in each}), log, bounded=False):
        shutil.copyfileobj(log.open(), sys.stderr)
        sys.exit("error: tests fail without a mutant; nothing can be judged by them")
    # The baseline has left compiled files; a mutant leaves none, which would look like those of the next one.
    sys.dont_write_bytecode = True
    said = Counter()
    for each in mutants:
        outcome = judged(each, tests[each.path], log)
        said[outcome] += 1
        show(outcome, each, library)
    print(f"{said[SURVIVED]} of {said.total()} survived")


def show(outcome: str, mutant: Mutant, library: Path) -> None:
    """Print a mutant, with what it changes unless it was killed."""
    print(f"{outcome}: {mutant.path.relative_to(library)}:{mutant.line} {mutant.operator}", flush=True)
    for line in mutant.difference() if outcome != KILLED else ():
        print(f"    {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/mutants", description="Whether the quick tests see mutants.")
    parser.add_argument("--seed", type=int, default=1, help="which mutants (default: 1)")
    parser.add_argument("--count", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"default: {' '.join(PACKAGES)}")
    asked = parser.parse_args()
    packages = asked.packages or PACKAGES
    if wrong := [name for name in packages if not (ROOT / "fabric_checks" / name / "__init__.py").exists()]:
        parser.error(f"the library has no package {wrong[0]!r}")

    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folder = Path(temporary) / "clone"
        # What is committed, and never the tree itself: no mutant is left behind.
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        library = folder / "fabric_checks"
        mutants = sample(library, packages, asked.seed, asked.count)
        if asked.list:
            for each in mutants:
                show("listed", each, library)
        else:
            report(mutants, library, Path(temporary) / "log")
    return 0


if __name__ == "__main__":
    sys.exit(main())
