# SPDX-License-Identifier: BSD-3-Clause
"""Wrong calls of all verbs: one sentence with the cause and the remedy, the exit status, and nothing
written."""

import pytest

from fabric_checks.cli import main
from fabric_checks.core.errors import FabricError
from tests.builders import record, write
from tests.calling import invoke


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Change to a folder with some results, a file that has none, an empty one, and one that is nested
    deeply."""
    write(tmp_path / "results/perflogs/s/p/A.jsonl", [record(n) for n in range(3)])
    write(tmp_path / "empty.jsonl", [])
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "nested.json").write_text("[" * 5000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path / "results"))
    return tmp_path


WRONG = [
    ("xyzzy", 2, "no such command 'xyzzy'; see fabric-checks --help"),
    ("shwo", 2, "no such command 'shwo'; did you mean 'fabric-checks show'?"),
    ("runs", 2, "no such command 'runs'; did you mean 'fabric-checks show --list'?"),
    ("accept plan", 2, "did you mean 'fabric-checks offers accept'?"),
    ("run --confirm many x", 2, "'many' is not a valid integer range; see ci/run"),
    ("list", 2, "no such command 'list'; did you mean 'fabric-checks show --list'?"),
    ("findings ack", 2, "did you mean 'fabric-checks findings acknowledge'?"),
    (
        "findings list",
        2,
        "no such command 'list'; did you mean 'fabric-checks findings'?",
    ),
    ("references prpose", 2, "did you mean 'fabric-checks references propose'?"),
    (
        "changes results,systm=x",
        2,
        "'systm=x' is not FIELD=VALUE; did you mean system=VALUE?",
    ),
    (
        "changes results,4",
        2,
        "'4' is not FIELD=VALUE; FIELD is one of format, case, reframe, system",
    ),
    ("changes results@tomorrow..", 2, "'tomorrow' is not a date; write 2026-11-01"),
    ("changes nothere", 1, "there is no file or folder 'nothere'"),
    ("show nothere", 1, "nothere: there is no such file or folder"),
    (
        "show empty.jsonl",
        1,
        "empty.jsonl: no sound record; name other records, or start a run",
    ),
    (
        "show --json --short",
        2,
        "--json and --short exclude each other; leave one of them out",
    ),
    ("show --list --session x", 2, "--list and --session exclude each other"),
    (
        "show --session=",
        2,
        "invalid value for '--session': it is empty: give a name, or leave the option out",
    ),
    (
        "compare a=results b=results --fail-on worse:5%",
        2,
        "'worse:5%' is not one of 'worse', 'missing'",
    ),
    ("blame results", 2, "File 'results' is a directory;"),
    (
        "changes empty.jsonl",
        1,
        "empty.jsonl: no sound record; name other records, or start a run",
    ),
    (
        "report results -o new/r.html",
        2,
        "new: there is no such folder; make it, or name another one with -o",
    ),
    (
        "cost --plan nested.json",
        1,
        "nested.json: this is not the plan of a run; ci/run --cost writes one",
    ),
    ("nightly --session=", 2, "invalid value for '--session': it is empty"),
    (
        "nightly smoke",
        2,
        "unexpected 'smoke'; --level chooses a level, options for ci/run begin with -",
    ),
    ("nightly -n Osu", 2, "no such option '-n'; options of ci/run go behind `--`; see"),
    (
        "nightly --mode x",
        2,
        "invalid value for '--level' / '--mode': 'x' is not one of",
    ),
    ("vet", 2, "missing option '--budget'; see fabric-checks vet --help"),
    ("vet --budget nan", 2, "nan is not finite; give a number"),
    ("vet --budget 9 --only=", 2, "invalid value for '--only': it is empty"),
    ("vet --budget 9 --system=", 2, "invalid value for '--system': it is empty"),
    ("references propose --system ../x", 1, "--system is '../x', which is not a name"),
]


@pytest.mark.parametrize(
    "line, status, text", WRONG, ids=[line for line, _, _ in WRONG]
)
def test_a_wrong_call_has_its_cause_and_writes_nothing(folder, line, status, text):
    before = sorted(folder.iterdir())
    done = invoke(*line.split())
    found, said = done.exit_code, done.output
    if isinstance(done.exception, FabricError):
        found, said = done.exception.status, str(done.exception)
    assert text in " ".join(said.split()) and found == status
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("words", [(), ("references",)])
def test_without_a_verb_the_help_is_shown_as_it_is(words):
    done = invoke(*words)
    assert done.exit_code == 2
    assert done.stdout.startswith("Usage: fabric-checks")
    assert not any(line.startswith("error") for line in done.output.splitlines())
    assert len(done.stdout.splitlines()) > 5


RIGHT = (
    "changes; show --list --json; compare a=results b=results --json;"
    " compare a=results b=results --margin 5; report results -o r.html"
)


@pytest.mark.parametrize("line", RIGHT.split("; "))
def test_a_right_call_is_not_refused(line):
    done = invoke(*line.split())
    assert done.exit_code == 0, done.output


def test_a_wrong_request_ends_the_command_with_status_2(monkeypatch, capsys):
    monkeypatch.setattr(main.sys, "argv", ["fabric-checks", "changes", "results@b..c"])
    assert main._status() == 2 and "'b' is not a date" in capsys.readouterr().err
