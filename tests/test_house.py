# SPDX-License-Identifier: BSD-3-Clause
"""What the contracts on imports in pyproject.toml cannot say."""

import ast
import re
from collections import Counter
from pathlib import Path

import reframe

import fabric_checks
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
TESTED_AS_A_WHOLE = {
    "cli",
    "reframe_ext",
    "schedulers",
    "report",
    "terminal",
    "pictures",
    "nightly",
    "comparison",
    "results",
    "store",
    "runs",
    "references",
    "cost",
    "bundles",
}


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


#: The one module that touches what ReFrame calls private.
INTERNALS = ROOT / "fabric_checks/reframe_ext/internals.py"
#: Private names of something else than ``self`` that are not ReFrame's: a class fills its own instance.
OWN_PRIVATE = {"fabric_checks/cost/past.py": {"_own", "_on_system", "_by_layout", "_elsewhere"}}
#: ReFrame's classes and modules that nobody derives from or calls but itself.
RUNNERS = re.compile(r"^reframe\.(frontend|core\.(config|meta|namespaces|variables|parameters|hooks|fixtures))\b")
DOCUMENTED = {"reframe.core.meta.make_test"}


def past_the_door():
    """Yield the files that may not touch ReFrame's inside, as trees."""
    for folder in ("fabric_checks", "checks", "config", "fabric_twins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != INTERNALS:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def is_inside(name):
    """Tell whether a name that is imported is of ReFrame's inside."""
    inside = RUNNERS.match(name) or is_private(name.split(".")[-1])
    return bool(name.startswith("reframe.") and inside and name not in DOCUMENTED)


def test_what_is_private_to_others_is_touched_in_one_module():
    """That of ReFrame, by any name: as an attribute, by an import, or in a string that is looked up."""
    found = []
    for path, tree in past_the_door():
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="self" | "cls")):
                    pass
                case ast.Attribute(attr=name) if is_private(name) and name not in OWN_PRIVATE.get(path, ()):
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
                case ast.Import() | ast.ImportFrom():
                    module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                    names = [f"{module}{alias.name}" for alias in node.names]
                    found += [f"{path}:{node.lineno}: {name}" for name in names if is_inside(name)]
                case ast.Constant(value=str(text)) if re.match(r"_*rfm_\w+$", text) and text != "rfm_job.sh":
                    found.append(f"{path}:{node.lineno}: {text!r}")
    assert not found, f"only {INTERNALS.relative_to(ROOT)} touches what others call private:\n" + "\n".join(found)


def test_no_private_name_of_ours_is_one_of_reframes():
    """In a class of ours with a base of ReFrame's, the same name would be the same attribute or method."""
    core = Path(reframe.__file__).parent / "core"
    bases = ["pipeline", "launchers/__init__", *(f"schedulers/{name}" for name in ("__init__", "flux", "lsf", "slurm"))]
    theirs = set().union(*(own_names(ast.parse((core / f"{base}.py").read_text())) for base in bases))
    assert {"_state", "_cancel_if_blocked", "_rfm_var_space"} <= theirs
    found = []
    for path, tree in past_the_door():
        if (
            path.startswith(("fabric_checks/reframe_ext", "fabric_checks/schedulers", "checks"))
            or path == "fabric_twins/launcher.py"
        ):
            found += [f"{path}: {name}" for name in sorted(own_names(tree) & theirs)]
    assert not found


def own_names(tree):
    """Return the private names that classes have: those that ``self`` or ``cls`` has, and those of methods."""
    names = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return {name for name in names if is_private(name)}


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
        if rest[:2] == ["software", "suites"]:
            continue  # declarations, in tests/software/test_suites.py
        if not rooms[package].joinpath(*rest[:-1], f"test_{path.stem}.py").exists():
            missing.append(str(path.relative_to(ROOT)))
    # Whole outputs and the laboratory of faults test these; ReFrame runs the launcher.
    assert missing == [
        "fabric_checks/culprits/cross_section/evaluation.py",
        "fabric_checks/fabric_map/infiniband.py",
        "fabric_checks/fabric_map/model.py",
        "fabric_checks/fabric_map/names.py",
        "fabric_checks/fabric_map/sharing.py",
        "fabric_checks/parsers/fabric.py",
        "fabric_checks/parsers/table.py",
        "fabric_twins/launcher.py",
        "fabric_twins/model/fabric_map.py",
    ]


def test_every_room_can_be_read():
    """A room is a package at the top of ours; what is loose beside them is one more."""
    lines = Counter()
    for path in modules():
        package, *rest = path.relative_to(ROOT).parts
        lines[f"{package}/{rest[0]}" if rest[1:] else package] += len(path.read_text().splitlines())
    rooms = {name.removeprefix("fabric_checks/") for name in lines if name.startswith("fabric_checks/")}
    assert rooms == set(re.findall(r"^``(\w+)`` ", fabric_checks.__doc__, re.MULTILINE))
    assert not {name: count for name, count in lines.items() if count >= 3000}


def test_the_pins_have_hashes():
    for path in sorted((ROOT / "ci" / "requirements").glob("*.txt")):
        for requirement in re.split(r"\n(?=[A-Za-z])", path.read_text()):
            if "==" in requirement:
                assert "--hash=sha256:" in requirement, f"{path.name}: {requirement.splitlines()[0]}"
