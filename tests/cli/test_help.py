# SPDX-License-Identifier: BSD-3-Clause
"""Every command: examples that parse, options with the same names everywhere, and the list of all."""

import re
import shlex
import sys

import click
import pytest

from fabric_checks.cli.commands import GROUPS, load, verbs
from fabric_checks.cli.main import cli
from fabric_checks.core.paths import ROOT
from tests import programs


def commands(group=cli, before=()):
    """Yield the words and the command of every command that is shown."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = load(name) if group is cli else group.get_command(context, name)
        if not command.hidden:
            yield (*before, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))


WITH_GROUPS = {(): cli, **dict(commands())}
ALL = {
    words: command
    for words, command in WITH_GROUPS.items()
    if not isinstance(command, click.Group)
}
#: Commands whose result is a file, or a page of it: they have no JSON.
WRITING = (
    ("demo",),
    ("findings", "acknowledge"),
    ("findings", "send"),
    ("init",),
    ("offers", "accept", "sign"),
    ("offers", "accept", "verdict"),
    ("offers", "pack"),
    ("offers", "request"),
    ("report",),
    ("twin", "references"),
)


def examples(command):
    """Yield the example lines of a command's help, without pipes and explanations."""
    text = (command.epilog or "").replace("\\\n", " ").partition("Examples:\n")[2]
    for line in text.splitlines():
        if found := re.search(r"(?<!\S)(fabric-checks .*)", line):
            yield re.split(
                r"(?<=\S)  +(?=\S)| [|>] ", re.sub(r"  +(?=--)", " ", found[1])
            )[0]


def test_there_are_commands():
    assert {words[0] for words in ALL} == {name for name in verbs() if name != "run"}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_the_help_has_examples_and_each_of_them_parses(words):
    found = list(examples(ALL[words]))
    assert found, "no Examples: in the epilog"
    for line in found:
        program, *arguments = shlex.split(line)
        assert program == "fabric-checks" and tuple(arguments[: len(words)]) == words, (
            line
        )
        try:
            ALL[words].make_context(words[-1], arguments[len(words) :])
        except click.ClickException as error:
            pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_option_says_what_it_does_and_json_is_json(words):
    options = [
        option for option in ALL[words].params if isinstance(option, click.Option)
    ]
    for option in options:
        assert option.help, option.opts
        assert all(
            re.fullmatch(r"--[a-z][A-Za-z-]*|-[a-zC]", name) for name in option.opts
        ), option.opts
    names = {name for option in options for name in option.opts}
    assert "--json" in names or words in WRITING or not verbs()[words[0]].group
    # Results are arguments; offers pack alone takes a folder for its own.
    assert not names & {"--folder", "--perflogs", "--result", "--output-format"}
    assert "--results" not in names or words == ("offers", "pack")


@pytest.mark.parametrize("words", WITH_GROUPS, ids=" ".join)
def test_the_help_states_the_exit_statuses(words):
    """And the usage has no option twice, no line is cut, and a source has one form."""
    command = WITH_GROUPS[words]
    text = command.get_help(click.Context(command, info_name="".join(words[-1:])))
    assert "...\n" not in text.partition("Commands:")[2]
    *_, statuses = text.partition("\nExit status:\n")
    assert [line.split()[0] for line in statuses.splitlines() if line[2:3].isdigit()][
        :3
    ] == ["0", "1", "2"]
    assert "[OPTIONS] [OPTIONS]" not in text


def test_the_help_lists_verbs_by_group_and_loads_none():
    call = "cli(['--help'], standalone_mode=False); print(*sys.modules)"
    code = f"import sys; from fabric_checks.cli.main import cli; {call}"
    done = programs.run([sys.executable, "-c", code], check=True)
    *lines, loaded = done.stdout.splitlines()
    assert not {verb.module for verb in verbs().values()} & set(loaded.split())
    text = " ".join("\n".join(lines).split())
    assert sorted(GROUPS, key=lambda group: text.index(f"{group}:")) == list(GROUPS)
    for name, verb in verbs().items():
        assert (f" {name} {verb.help}" in text) == bool(verb.group), name
    assert len([verb for verb in verbs().values() if verb.group]) <= 17 and list(
        verbs()
    )[:2] == [
        "nightly",
        "vet",
    ]


COMPLETE = """
. ci/completion.bash
cd /
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
{function} fabric-checks
echo "${{COMPREPLY[@]}}"
"""


def completed(words, function="_fabric_checks_completion"):
    """Return what bash completes the last of some words to."""
    script = COMPLETE.format(words=words, function=function)
    done = programs.run(["bash", "-c", script], check=True, cwd=ROOT)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    "words, names",
    [
        ("bla", ["blame"]),
        ("new", []),
        ("references propose --min", ["--min-passes"]),
        ("nightly --system minic", ["minicluster"]),
        ("show --session 2026", ["20260101T000000Z-abcd"]),
        ("findings acknowledge x", []),
    ],
)
def test_bash_completes_commands_options_and_names_but_hidden_ones(
    words, names, tmp_path, monkeypatch
):
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "run-report-20260101T000000Z-abcd-0.json").touch()
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    assert completed(f"fabric-checks {words}") == names


@pytest.mark.parametrize(
    "words, name",
    [
        ("--system minic", "minicluster"),
        ("--system spir", "spirit"),
        ("--mode proc", "procurement"),
        ("-n OsuBarr", "OsuBarrier"),
        ("--one", "--one-job"),
    ],
)
def test_bash_completes_what_ci_run_takes(words, name):
    """From any folder, where it is typed with its path."""
    assert completed(f"{ROOT}/ci/run {words}", "_fabric_ci_run") == [name]
    assert not completed(f"/usr/bin/run {words}", "_fabric_ci_run")


@pytest.mark.parametrize("word", ["--metrics", "--reservation"])
def test_bash_completes_the_options_of_ci_nightly_and_of_its_verb(word):
    assert completed(f"{ROOT}/ci/nightly {word[:-2]}", "_fabric_ci_nightly") == [word]
