# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks completion`: what a shell makes of it."""

import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fabric_checks.cli.commands import GROUPS, verbs
from fabric_checks.cli.main import cli
from tests.guard import GUARD_S

_ASK = """
eval "$(fabric-checks completion bash)"
COMP_WORDS=({words}); COMP_CWORD={position}
_fabric_checks_completion fabric-checks
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(*words):
    """Return what bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("fabric-checks", *words))
    script = _ASK.format(words=line, position=len(words))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=GUARD_S, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands():
    assert {"show", "history", "references", "rotate"} <= set(completed(""))
    assert completed("his") == ["history"]
    assert "new-session" not in completed("")


def test_bash_completes_what_is_below_a_command():
    assert set(completed("references", "")) == {"propose", "check"}
    assert completed("references", "propose", "--min-runs-") == ["--min-runs-to-tighten"]
    assert completed("completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells(shell, tmp_path):
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0 and "_FABRIC_CHECKS_COMPLETE" in done.stdout and "fabric-checks" in done.stdout
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_without_a_name_it_is_that_of_the_shell_in_use():
    bash = CliRunner().invoke(cli, ["completion", "bash"]).stdout
    assert CliRunner().invoke(cli, ["completion"], env={"SHELL": "/bin/bash"}).stdout == bash
    other = CliRunner().invoke(cli, ["completion"], env={"SHELL": "/bin/tcsh"})
    assert other.exit_code == 2 and "Give one of bash, zsh, fish." in other.output


def test_the_help_of_all_names_every_command_but_the_hidden():
    text = CliRunner().invoke(cli, ["--help"]).output
    for name, verb in verbs().items():
        assert (f"  {name} " in text) == bool(verb.group), name


def test_the_list_of_commands_loads_none_of_them_and_cuts_no_line():
    call = "cli(['--help'], standalone_mode=False); print(*sys.modules)"
    code = f"import sys; from fabric_checks.cli.main import cli; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, loaded = done.stdout.splitlines()
    assert not {verb.module for verb in verbs().values()} & set(loaded.split())
    listed = "\n".join(shown).partition(f"{GROUPS[0]}:")[2]
    assert all(verb.help in listed for verb in verbs().values() if verb.group) and "..." not in listed


def test_the_groups_are_in_order_and_hold_at_most_sixteen_verbs():
    text = CliRunner().invoke(cli, ["--help"]).output
    assert sorted(GROUPS, key=lambda group: text.index(f"{group}:")) == list(GROUPS)
    assert len([verb for verb in verbs().values() if verb.group]) <= 16
    assert list(verbs())[:2] == ["nightly", "vet"]
