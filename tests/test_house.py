# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the house that the contracts on imports in pyproject.toml cannot state."""

import ast
import re
import tokenize
from collections import Counter
from pathlib import Path

import reframe

import fabric_checks
from tests.conftest import ROOT, TESTS

LIBRARY = ROOT / "src"
PACKAGES = ("fabric_checks", "fabric_twins", "fabric_offers", "fabric_profile")
#: Modules that print without the console: the console itself, and those that run in ReFrame, in a job or in
#: Spack.
WITHOUT_CONSOLE = {
    f"src/{name}.py"
    for name in (
        "fabric_checks/core/console",
        "fabric_checks/core/text",
        "fabric_checks/reframe_ext/handlers",
        "fabric_twins/launch",
        "fabric_checks/records/perflog",
        "fabric_checks/software/spack/inside",
    )
}
PRINTS = re.compile(
    r"^(print|click\.(echo|secho|progressbar)|sys\.(stdout|stderr)|Console|csv\.writer|rich\.print)$"
)
#: Rooms each of whose modules has a file of tests; the others are tested by whole sessions, pages or the
#: command.
MIRRORED = ("core", "parsers", "analysis", "ports")
#: Tested by the parsers that use them.
BY_OTHERS = {
    "parsers/fabric.py",
    "parsers/table.py",
    "core/errors.py",
    "core/routing.py",
}


def modules():
    for package in PACKAGES:
        yield from sorted((LIBRARY / package).rglob("*.py"))


def test_all_output_goes_through_the_console():
    for path in modules():
        if str(path.relative_to(ROOT)) not in WITHOUT_CONSOLE:
            used = {
                ast.unparse(node)
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Name | ast.Attribute)
            }
            assert not [name for name in used if PRINTS.match(name)], path


#: The one module that touches what ReFrame calls private.
INTERNALS = ROOT / "src/fabric_checks/reframe_ext/internals.py"
#: ReFrame's classes and modules that nobody derives from or calls but itself.
RUNNERS = re.compile(
    r"^reframe\.(frontend|core\.(config|meta|namespaces|variables|parameters|hooks|fixtures))\b"
)
DOCUMENTED = {"reframe.core.meta.make_test"}


def sources():
    """Yield the paths and trees of the files that may not touch ReFrame's internals."""
    for folder in ("src", "checks", "config"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != INTERNALS:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def is_inside(name):
    """Return whether an imported name belongs to ReFrame's internals."""
    inside = RUNNERS.match(name) or is_private(name.split(".")[-1])
    return bool(name.startswith("reframe.") and inside and name not in DOCUMENTED)


def test_what_is_private_to_others_is_touched_in_one_module():
    """That of ReFrame, by any name: as an attribute, by an import, or in a string that is looked up."""
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            match node:
                case (
                    ast.Attribute(value=ast.Name(id="self" | "cls"))
                    | ast.Attribute(attr="_replace")
                ):
                    pass  # its own, or what every NamedTuple documents
                case ast.Attribute(attr=name) if is_private(name):
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
                case ast.Import() | ast.ImportFrom():
                    module = (
                        f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                    )
                    names = [f"{module}{alias.name}" for alias in node.names]
                    found += [
                        f"{path}:{node.lineno}: {name}"
                        for name in names
                        if is_inside(name)
                    ]
                case ast.Constant(value=str(text)) if (
                    re.match(r"_*rfm_\w+$", text) and text != "rfm_job.sh"
                ):
                    found.append(f"{path}:{node.lineno}: {text!r}")
    assert not found, (
        f"only {INTERNALS.relative_to(ROOT)} touches what others call private:\n"
        + "\n".join(found)
    )


#: Files with classes that derive from ReFrame's.
DERIVING = (
    "checks",
    "src/fabric_checks/reframe_ext",
    "src/fabric_checks/schedulers",
    "src/fabric_profile/mixin",
    "src/fabric_twins/launcher.py",
)


def test_no_private_name_of_ours_is_one_of_reframes():
    """In a class of ours with a base of ReFrame's, the same name would be the same attribute or method."""
    core = Path(reframe.__file__).parent / "core"
    bases = [
        "pipeline",
        "launchers/__init__",
        *(f"schedulers/{name}" for name in ("__init__", "flux", "lsf", "slurm")),
    ]
    theirs = set().union(
        *(own_names(ast.parse((core / f"{base}.py").read_text())) for base in bases)
    )
    assert {"_state", "_cancel_if_blocked", "_rfm_var_space"} <= theirs
    found = []
    for path, tree in sources():
        if path.startswith(DERIVING):
            found += [f"{path}: {name}" for name in sorted(own_names(tree) & theirs)]
    assert not found


def own_names(tree):
    """Return the private names that classes have: those that ``self`` or ``cls`` has, and those of
    methods."""
    names = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "cls")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names |= {
                each.name for each in node.body if isinstance(each, ast.FunctionDef)
            }
    return {name for name in names if is_private(name)}


def test_reframe_finds_every_check():
    """It loads the files that import it, and says nothing of the others."""
    for path in sorted((ROOT / "checks").rglob("*.py")):
        if "@check(" in (text := path.read_text()):
            assert re.search(r"^(import|from) reframe\b", text, re.MULTILINE), path


def test_every_source_file_names_its_licence():
    for pattern in ("**/*.py", "ci/*", "checks/**/*.[ch]"):
        for path in sorted(ROOT.glob(pattern)):
            if (
                path.is_file()
                and ".fabric" not in path.parts
                and "golden" not in path.parts
            ):
                assert (
                    "SPDX-License-Identifier: BSD-3-Clause" in path.read_text()[:200]
                ), path


def test_every_room_has_its_folder_of_tests():
    for package in PACKAGES:
        rooms = (
            TESTS
            if package == "fabric_checks"
            else TESTS / package.removeprefix("fabric_")
        )
        assert rooms.is_dir(), package
    for room in (LIBRARY / "fabric_checks").iterdir():
        assert (
            not room.is_dir()
            or room.name == "__pycache__"
            or (TESTS / room.name).is_dir()
        ), room


def test_every_module_of_the_lower_rooms_has_its_tests():
    missing = [
        name
        for room in MIRRORED
        for path in sorted((LIBRARY / "fabric_checks" / room).rglob("*.py"))
        if (name := str(path.relative_to(LIBRARY / "fabric_checks"))) not in BY_OTHERS
        and path.name != "__init__.py"
        and not (TESTS / name).with_name(f"test_{path.name}").exists()
    ]
    assert not missing


def test_every_room_can_be_read():
    """A room is a package at the top of ours, and what is loose there one more. Its size is in tokens."""
    tokens = Counter()
    for path in modules():
        package, *rest = path.relative_to(LIBRARY).parts
        tokens[f"{package}/{rest[0]}" if rest[1:] else package] += size_of(path)
    rooms = {
        name.removeprefix("fabric_checks/")
        for name in tokens
        if name.startswith("fabric_checks/")
    }
    assert rooms == set(
        re.findall(r"^``(\w+)``  ", fabric_checks.__doc__, re.MULTILINE)
    )
    assert not {name: count for name, count in tokens.items() if count >= 42_000}


def size_of(path):
    """Return the tokens of a module, without comments and layout."""
    counted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
    with path.open() as lines:
        return sum(
            token.type in counted for token in tokenize.generate_tokens(lines.readline)
        )


def test_the_pins_have_hashes():
    for path in sorted((ROOT / "ci/requirements").glob("*.txt")):
        for requirement in re.split(r"\n(?=[A-Za-z])", path.read_text()):
            if "==" in requirement:
                assert "--hash=sha256:" in requirement, (
                    f"{path.name}: {requirement.splitlines()[0]}"
                )
