# SPDX-License-Identifier: BSD-3-Clause
"""What the contracts on imports in pyproject.toml cannot say."""

import ast
import re

from tests.conftest import TESTS

ROOT = TESTS.parent
PACKAGES = ("fabric_checks", "fabric_twins")
#: Who prints without the door: what runs within ReFrame, not in the command; and who writes CSV into a file.
#: What is run by others: by ReFrame, in a job, by Spack; and what the door itself is made of.
NOT_BY_THE_DOOR = {
    *(
        "fabric_checks/door.py",
        "fabric_checks/text.py",
        "fabric_checks/reframe_ext/handlers.py",
        "fabric_twins/launch.py",
    ),
    *("fabric_checks/results/csv_file.py", "fabric_checks/software/spack/inside.py"),
}
PRINTS = re.compile(r"^(print|click\.(echo|secho|progressbar)|sys\.(stdout|stderr)|Console|csv\.writer|rich\.print)$")
#: Rooms whose modules are tested by whole sessions, by whole pages or by the command, not each by a file of its name.
TESTED_AS_A_WHOLE = {"cli", "reframe_ext", "report", "nightly", "comparison", "results", "references"}


def modules():
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_nothing_is_printed_past_the_door():
    for path in modules():
        if str(path.relative_to(ROOT)) not in NOT_BY_THE_DOOR:
            used = {
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Name | ast.Attribute)
            }
            assert not [name for name in used if PRINTS.match(name)], path


def test_reframe_finds_every_check():
    """It loads the files that import it, and says nothing of the others."""
    for path in sorted((ROOT / "checks").rglob("*.py")):
        if "@check(" in (text := path.read_text()):
            assert re.search(r"^(import|from) reframe\b", text, re.MULTILINE), path


def test_every_source_file_names_its_licence():
    for pattern in ("**/*.py", "ci/*", "checks/**/*.[ch]"):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and ".fabric" not in path.parts and "golden" not in path.parts:
                assert "SPDX-License-Identifier: BSD-3-Clause" in path.read_text()[:200], path


def test_tests_stand_where_the_modules_stand():
    """A module has a file of tests of its name in the same room, but for what is tested as a whole."""
    rooms = {"fabric_checks": TESTS, "fabric_twins": TESTS / "twins"}
    missing = []
    for path in modules():
        package, *rest = path.relative_to(ROOT).parts
        leaves = {"__init__.py", "__main__.py", "errors.py"}
        if path.name in leaves or TESTED_AS_A_WHOLE & set(rest[:1]) or "cli" in rest:
            continue
        if not rooms[package].joinpath(*rest[:-1], f"test_{path.stem}.py").exists():
            missing.append(str(path.relative_to(ROOT)))
    # Whole outputs test these three; ReFrame runs the launcher.
    assert missing == [
        "fabric_checks/analysis/cross_section/evaluation.py",
        "fabric_checks/parsers/fabric.py",
        "fabric_checks/parsers/table.py",
        "fabric_twins/launcher.py",
    ]


def test_the_pins_have_hashes():
    for path in sorted((ROOT / "ci" / "requirements").glob("*.txt")):
        for requirement in re.split(r"\n(?=[A-Za-z])", path.read_text()):
            if "==" in requirement:
                assert "--hash=sha256:" in requirement, f"{path.name}: {requirement.splitlines()[0]}"
