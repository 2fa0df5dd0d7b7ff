# SPDX-License-Identifier: BSD-3-Clause
"""Every command: examples that parse, and options that are called the same everywhere."""

import re
import shlex

import click
import pytest

from fabric_checks.cli.commands import load, verbs
from fabric_checks.cli.main import cli


def commands(group=cli, before=()):
    """Yield the words and the command of every command that is shown."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = load(name) if group is cli else group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        elif not command.hidden:
            yield (*before, name), command


ALL = dict(commands())


def examples(command):
    """Return the example lines of a command's help, without what a shell does around them and what is said of them."""
    text = (command.epilog or "").replace("\\\n", " ").partition("Examples:\n")[2]
    for line in text.splitlines():
        found = re.search(r"(?<!\S)(?:eval \"\$\()?(fabric-checks .*)", line)
        if found:
            said = re.split(r"(?<=\S)  +(?=\S)|\)\"| [|>] ", re.sub(r"  +(?=--)", " ", found[1]))
            yield said[0]


def test_there_are_commands():
    assert {words[0] for words in ALL} == {name for name, verb in verbs().items() if name not in ("run", "new-session")}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_the_help_has_examples_and_each_of_them_parses(words):
    found = list(examples(ALL[words]))
    assert found, "no Examples: in the epilog"
    for line in found:
        program, *arguments = shlex.split(line)
        assert program == "fabric-checks" and tuple(arguments[: len(words)]) == words, line
        try:
            ALL[words].make_context(words[-1], arguments[len(words) :])
        except click.ClickException as error:
            pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_option_says_what_it_does_and_json_is_json(words):
    options = [option for option in ALL[words].params if isinstance(option, click.Option)]
    for option in options:
        assert option.help, option.opts
        assert all(re.fullmatch(r"--[a-z][A-Za-z-]*|-[a-z]", name) for name in option.opts), option.opts
    names = {name for option in options for name in option.opts}
    if words != ("completion",):
        assert "--json" in names
    # Results are named by --results, or by arguments.
    assert not names & {"--folder", "--perflogs", "--result", "--output-format"}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_the_help_fits_a_terminal(words):
    command = ALL[words]
    text = command.get_help(click.Context(command, info_name=words[-1], terminal_width=100, max_content_width=100))
    assert command.help and text.startswith("Usage:")
    assert "Error" not in text
