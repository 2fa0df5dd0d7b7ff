# SPDX-License-Identifier: BSD-3-Clause
"""Every command that a pipeline names exists and knows each option that it is given."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from fabric_checks.cli.commands import Commands, load
from tests.conftest import TESTS
from tests.pipelines import steps

ROOT = TESTS.parent
#: What the shell brings along, and words of its grammar.
SHELL = {"[", "echo", "exit", "export", "read", "cd", ".", "if", "then", "fi"}


def simple_commands(script):
    """Return the words of each command of a script, with what is substituted as commands of their own."""
    inner = re.findall(r"\$\(([^()]*)\)", script)
    for text in [re.sub(r"\$\([^()]*\)", "x", script), *inner]:
        for line in re.split(r"\n|&&|\|\||;|(?<!<)\|", text.replace("\\\n", " ")):
            try:
                words = shlex.split(line.split("<<<")[0], comments=True)
            except ValueError:  # half of a quoted text, whose other half has the rest
                continue
            words = [word for word in words if not re.match(r"\d?>|<", word)]
            while words and (re.match(r"\w+=", words[0]) or words[0] in ("then", "if", "sudo")):
                words = words[1:]
            if words:
                yield words


def named():
    """Return each command of each script once, with its options."""
    found = {}
    for (file, _), script in steps.scripts().items():
        script = script.replace(f"{steps.CLONE}/", "")
        for words in simple_commands(script):
            own = 2 if words[0] == "fabric-checks" else 1
            found.setdefault((" ".join(words[:own]), *options_of(words)), file)
    return found


def options_of(words):
    own = words[: words.index("--")] if "--" in words else words
    return tuple(word.split("=")[0] for word in own[1:] if re.match(r"--?[a-z]", word) and words[0] not in SHELL)


NAMED = named()


def test_the_commands_are_found():
    """Else the tests below would prove nothing."""
    commands = {command[0] for command in NAMED}
    assert commands >= {"ci/pipelines/night", "ci/nightly", "ci/run", "ci/test"}


@pytest.mark.parametrize("command", NAMED, ids=lambda command: " ".join(command))
def test_exists(command):
    program, _, own = command[0].partition(" ")
    if own:
        assert Commands().get_command(None, own) is not None, own
    elif program.startswith("ci/"):
        assert (ROOT / program).stat().st_mode & 0o111, program
    else:
        assert program in SHELL or shutil.which(program), program


@pytest.mark.parametrize("command", [each for each in NAMED if each[1:]], ids=lambda command: " ".join(command))
def test_knows_its_options(command, tmp_path):
    program, *options = command
    if program.startswith("fabric-checks "):
        said = of_click(program.split()[1])
    elif program == "ci/nightly":
        said = of_click("nightly")
    elif program == "ci/run":
        helped = subprocess.run([ROOT / "ci/run", "--help"], capture_output=True, text=True, check=True).stdout
        said = helped + subprocess.run(["reframe", "--help"], capture_output=True, text=True, check=True).stdout
    else:
        said = (ROOT / program).read_text()
    for option in options:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", said), option


def of_click(name):
    command = load(name)
    return CliRunner().invoke(command, ["--help"]).output


def test_ci_test_knows_quick():
    """Its dry run: nothing is tested."""
    done = subprocess.run(
        ["pytest", "--quick", "--collect-only", "-q", "tests/analysis/statistics", "tests/cluster"],
        capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert "tests/analysis/statistics/" in done.stdout and "tests/cluster/" not in done.stdout
