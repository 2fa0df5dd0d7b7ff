# SPDX-License-Identifier: BSD-3-Clause
"""Who may know whom."""

import ast
import re

from tests.conftest import TESTS

ROOT = TESTS.parent
PURE = {
    "errors",
    "installed",
    "locks",
    "paths",
    "sharing",
    "metrics",
    "layouts",
    "line_rate",
    "curves",
    "placement",
    "programs",
    "references",
    "records",
    "perflog",
    "summary",
    "cli",
    "door",
    "files",
    "session",
    "slurm",
    "stacks",
    "pictures",
    "ppn_ratio",
    "ppn_series",
    "ppn_table",
    "text",
}


def imported(path):
    """Return the names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_only_mixins_and_backends_import_reframe():
    for path in sorted((ROOT / "fabric_checks").rglob("*.py")):
        if not {"mixins", "backends"} & set(path.parts):
            assert not [name for name in imported(path) if name.split(".")[0] == "reframe"], path


def test_the_library_knows_no_checks_and_no_configuration():
    for path in sorted((ROOT / "fabric_checks").rglob("*.py")):
        assert not [name for name in imported(path) if name.split(".")[0] in ("checks", "config", "tests")], path


def test_parsers_know_neither_files_nor_systems():
    allowed = {
        "fabric_checks.errors",
        "fabric_checks.parsers",
        "fabric_checks.parsers.fabric",
        "fabric_checks.parsers.points",
        "fabric_checks.parsers.table",
    }
    harmless = {"__future__", "re", "math", "io", "typing", "collections.abc", "dataclasses"}
    harmless |= {"numpy", "numpy.typing", "polars"}
    for path in sorted((ROOT / "fabric_checks" / "parsers").glob("*.py")):
        for name in imported(path):
            assert name in allowed or name in harmless, (path, name)


def test_statistics_know_neither_files_nor_records():
    harmless = {"__future__", "math", "itertools", "functools", "dataclasses", "collections.abc", "typing"}
    harmless |= {"numpy", "numpy.typing", "ruptures", "scipy.stats", "fabric_checks.statistics"}
    for path in sorted((ROOT / "fabric_checks" / "statistics").glob("*.py")):
        assert set(imported(path)) <= harmless, path


#: Who prints without the door: what runs within ReFrame, not in the command; and who writes CSV into a file.
#: What is run by others: by ReFrame, in a job, by Spack; and what the door itself is made of.
NOT_BY_THE_DOOR = {
    *("door.py", "mixins/perflogs.py", "twins/launch.py", "text.py", "perflogs/csv_file.py", "spack/inside.py"),
}
PRINTS = re.compile(r"^(print|click\.(echo|secho|progressbar)|sys\.(stdout|stderr)|Console|csv\.writer|rich\.print)$")


def test_nothing_is_printed_past_the_door():
    library = ROOT / "fabric_checks"
    for path in sorted(library.rglob("*.py")):
        if str(path.relative_to(library)) not in NOT_BY_THE_DOOR:
            used = {
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Name | ast.Attribute)
            }
            assert not [name for name in used if PRINTS.match(name)], path


def test_every_source_file_names_its_licence():
    for pattern in ("**/*.py", "ci/*", "checks/**/*.[ch]"):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and ".fabric" not in path.parts and "golden" not in path.parts:
                assert "SPDX-License-Identifier: BSD-3-Clause" in path.read_text()[:200], path


def test_every_module_has_its_tests():
    """A parser, and a module of the library, has a test file of its name; the command is tested by whole sessions."""
    for path in sorted((ROOT / "fabric_checks" / "parsers").glob("*.py")):
        if path.stem not in ("__init__", "table", "fabric"):
            assert (TESTS / "parsers" / f"test_{path.stem}.py").exists(), path
    for path in sorted((ROOT / "fabric_checks" / "spack").glob("*.py")):
        # Only a Spack can run `inside`: test_tool.py has its answers, test_for_real.py a real one.
        if path.stem not in ("__init__", "errors", "cli", "inside"):
            assert (TESTS / "spack" / f"test_{path.stem}.py").exists(), path
    for path in sorted((ROOT / "fabric_checks" / "twins").glob("*.py")):
        if path.stem not in ("__init__", "errors"):
            assert (TESTS / "twins" / f"test_{path.stem}.py").exists(), path
    for path in sorted((ROOT / "fabric_checks" / "cross_section").glob("*.py")):
        if path.stem not in ("__init__", "report"):
            assert (TESTS / "cross_section" / f"test_{path.stem}.py").exists(), path
    for name in PURE - {"errors", "cli", "session", "stacks"}:
        assert (TESTS / f"test_{name}.py").exists(), name


def test_the_pins_have_hashes():
    for path in sorted((ROOT / "ci" / "requirements").glob("*.txt")):
        for requirement in re.split(r"\n(?=[A-Za-z])", path.read_text()):
            if "==" in requirement:
                assert "--hash=sha256:" in requirement, f"{path.name}: {requirement.splitlines()[0]}"
