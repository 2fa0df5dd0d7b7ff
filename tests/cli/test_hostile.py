# SPDX-License-Identifier: BSD-3-Clause
"""Every verb in every form, with names, messages, paths and options that would steer a terminal or a
spreadsheet."""

import io
import json
import re
import sys

import pytest
import yaml

from fabric_checks.cli import main
from fabric_checks.cli.commands import verbs
from fabric_offers import bundle_file
from fabric_twins import published_table, replay
from tests.builders import case, write_session
from tests.conftest import GOLDEN
from tests.diagnosis.cross_section.model import Fabric, run, text_of
from tests.own_outputs import summed
from tests.references.records import record, write
from tests.twins.conftest import SMALL

#: A line of its own, if a line end in a name is one; no column of a table is as wide.
FORGED = "error: FORGED as if it were a line that the command itself has printed"
#: Escape sequences in 7 and 8 bits, a title, line ends of all kinds, directions, what is no character,
#: markup.
ODD = (
    f" \t=cmd|x\x1b[2J\x1b]0;t\x07\x9b31m\x7f\x00\u202etxt\u2066\ufeff"
    f"\r\n{FORGED}\n{FORGED}\r{FORGED}\x85{FORGED}\u2028{FORGED}\v{FORGED}"
    " [red]x[/] <b>y</b> www.a.b http://a.b/c @everyone a@b.c"
)
#: What a file cannot have in a name, and a word without blanks.
LABEL = f"\t+x\x1b[31m\u202e\n{FORGED}\udcff"
WORD = "=x\x1b[31m\u202e\x07\x9b@everyone"
#: Fields of a record that are text of others: with them all odd there is still something to judge.
FIELDS = (
    "collection",
    "reframe",
    "environ",
    "mpi",
    "compiler",
    "program",
    "program_version",
    "stack",
    "spec",
    "spec_hash",
    "spack",
    "binding",
    "jobid",
    "no_reference",
    "reference_source",
    "fail_reason",
    "nodelist",
    "placement",
)
SESSION = record(0)["session"]


def odd(day, value=1.3, **changes):
    """Return a record that is odd wherever it has text."""
    fields = {
        name: [ODD] if name in ("nodelist", "placement") else ODD for name in FIELDS
    }
    more = {
        "test": f"OsuLatency %layout=2x1 %p={ODD}",
        "findings": [{"kind": ODD, "severity": "fault", "text": ODD}],
    }
    return record(day, value, **(fields | more | {"not_offered": {ODD: ODD}} | changes))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with results of runs and whatever else a verb reads, all odd."""
    folder = tmp_path / f"a{WORD}b"
    records = [
        odd(day, 1.3 if day < 12 else 2.6, mpi=f"{day // 12}{ODD}") for day in range(24)
    ]
    records += [
        odd(
            0,
            None,
            metric=None,
            unit=None,
            result=None,
            case_result="fail",
            test=f"Other %p={ODD}",
        )
    ]
    results = write(
        folder / "results",
        [*records, odd(0, 7.0, metric=f"m{ODD}", quantity=ODD, size_B=None)],
    )
    compared = {"metric": ODD, "unit": ODD, "values": {ODD: 1.0, "2x1": 2.0}}
    write(
        results,
        [
            odd(
                0,
                2.0,
                metric="latency_ratio",
                quantity="latency_ratio",
                compared=compared,
            )
        ],
    )
    of = {
        "system": "yours",
        "partition": "compute",
        "environ": ODD,
        "fail_phase": ODD,
        "fail_reason": ODD,
    }
    failed = case(f"OsuLatency %layout=2x1 %p={ODD}", "fail", **of)
    write_session(results, [failed], session=SESSION, log=f"WARNING: skipping {ODD}\n")
    with next((results / "perflogs").rglob("*.jsonl")).open("a") as out:
        out.write(f"{{{ODD}\n".replace("\n", "") + "\n")
    write(folder / "sound", [odd(day) for day in range(9)])
    lines = text_of(run(Fabric(8, 0.01, 1, receivers={6: 0.4})))
    # The program prints no other characters, and an output that has them is refused.
    odd_hosts = re.sub(r"host (n\d+)", rf"host \1{re.sub('[^!-~]', '', WORD)}", lines)
    (folder / "rotate.txt").write_text(summed(odd_hosts))
    profile = (GOLDEN / "profile/mpich-5.0.2-lammps-lj.4ranks.txt").read_text()
    profile = re.sub(
        r"# mpi: .*",
        f"# mpi: {WORD} {WORD}",
        re.sub(r"(?m)^(rank \d) \S+", rf"\1 {WORD}", profile),
    )
    (folder / "profile.txt").write_text(profile)
    (folder / "references").mkdir()
    (folder / "references/yours.yaml").write_text(yaml.safe_dump({ODD: {ODD: ODD}}))
    state = {"commit": ODD, "files": {ODD: ODD}, "untracked": [ODD]}
    texts = {
        "collection.json": state,
        "binaries.json": {ODD: None},
        "perflogs/yours/a.jsonl": odd(0),
    }
    members = {name: json.dumps(each).encode() for name, each in texts.items()}
    bundle_file.write(
        folder / "odd.tar",
        {"kind": "offer", "level": "nightly", "left_out": [ODD]},
        members,
    )
    criteria = {
        "name": f"l{ODD}",
        "check": "OsuLatency",
        "metric": "latency_8B",
        "weight": 1,
        "at_most": 0.1,
    }
    (folder / "rules.yaml").write_text(
        yaml.safe_dump({"currency": ODD, "criteria": [criteria]})
    )
    (folder / "plan.yaml").write_text(
        SMALL
        + yaml.safe_dump(
            {"plan": f"p{ODD}", "alternatives": [{"name": f"n{ODD}", "nodes": 6}]}
        )
    )
    monkeypatch.chdir(folder)
    # The results of a clone cannot have such a path, because job scripts name it: a link of a sound one leads
    # there.
    link = tmp_path / "link"
    link.symlink_to(results.resolve())
    monkeypatch.setenv("FABRIC_RESULTS", str(link))
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(folder / "none"))

    monkeypatch.setattr(replay, "run_s", lambda *_: 2.0)
    done = "complete: 2 actions"
    ends = (("trace", done), (f"traces/{WORD}", done), ("stopped", f"stopped: {WORD}"))
    for name, end in ends:
        lines = (
            "# fabric-checks trace 1",
            "# rank: 0 of 1",
            "# flops/s: 1000000000",
            "0 init",
            "0 compute 1000000000",
        )
        (folder / name).mkdir(parents=True)
        (folder / name / "rank-0.trace").write_text("\n".join([*lines, f"# {end}", ""]))
    monkeypatch.setattr(published_table, "shipped", list)
    return folder


def call(monkeypatch, *words):
    """Run the command as its user does; return its status and the bytes of both streams."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["fabric-checks", *words])
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit) as end:
            main.main()
    for stream in streams:
        stream.flush()
    return end.value.code or 0, *(
        stream.buffer.getvalue().decode() for stream in streams
    )


#: The words of each call, its exit status, and what it prints on standard output.
CALLS = (
    ("show --session " + SESSION, 1, "text"),
    (f"show --session {SESSION} --json", 1, "records"),
    ("show --short --session " + SESSION, 1, "text"),
    ("show results/perflogs", 1, "text"),
    ("show --list", 0, "text"),
    ("show --list --json", 0, "json"),
    ("show --session ODD", 1, "text"),
    ("references propose sound --system yours", 0, "text"),
    ("references propose sound --system yours --json", 0, "json"),
    ("references propose --system ODD", 1, "text"),
    ("cost --plan ODD", 1, "text"),
    ("report -o a.html", 1, "text"),
    ("report sound -o a.html --title ODD", 0, "text"),
    ("report ODD", 1, "text"),
    ("compare LABEL=sound b=sound", 0, "text"),
    ("compare LABEL=sound b=sound --json", 0, "json"),
    ("compare LABEL=results b=sound --fail-on missing", 3, "text"),
    ("compare LABEL=sound LABEL=sound", 2, "text"),
    ("changes", 3, "text"),
    ("changes --json", 3, "json"),
    ("offers check odd.tar", 3, "text"),
    ("offers check odd.tar --json", 3, "json"),
    ("offers check ODD", 1, "text"),
    ("offers rank rules.yaml LABEL=sound", 3, "text"),
    ("offers rank rules.yaml a=sound --json", 3, "json"),
    ("blame rotate.txt --json", 3, "json"),
    ("blame ODD", 1, "text"),
    ("findings --system yours", 1, "text"),
    ("findings --system yours --json", 1, "text"),
    (
        "findings acknowledge ODD --reason ODD --ticket ODD --until 2199-01-01",
        1,
        "text",
    ),
    ("vet --system yours --budget 10", 1, "text"),
    ("profile --read profile.txt --picture a.svg", 0, "text"),
    ("profile --read profile.txt --json", 0, "json"),
    ("profile --read ODD", 1, "text"),
    ("twin predict plan.yaml --pictures pictures", 0, "text"),
    ("twin predict plan.yaml --json", 0, "json"),
    ("twin predict ODD", 1, "text"),
    ("replay trace plan.yaml --sensitivity", 0, "text"),
    ("replay trace plan.yaml --json", 0, "json"),
    ("replay stopped plan.yaml", 1, "text"),
    ("replay ODD plan.yaml", 1, "text"),
    ("replay . plan.yaml", 1, "text"),
    ("replay traces plan.yaml", 0, "text"),
    ("replay traces plan.yaml --json", 0, "json"),
    ("twin table", 0, "text"),
    ("spack build ODD x --environ x --site x", 2, "text"),
    (f"nightly --system yours --session {SESSION}", 1, "text"),
    (f"nightly --system yours --session {SESSION} --json", 1, "json"),
    ("nightly --system ODD", 2, "text"),
    ("init --name ODD --yes", 1, "text"),
    ("run ODD", 1, "text"),
    ("demo -o no/ODD", 2, "text"),
    ("doctor -C ODD", 1, "text"),
    ("doctor -C LABEL --json", 1, "text"),
    ("ODD", 2, "text"),
    ("show --ODD", 2, "text"),
)


def test_every_verb_is_called():
    assert {words.split()[0] for words, *_ in CALLS} - {"ODD"} == set(verbs())


def require_harmless(text, of):
    """Require that nothing in a text steers a terminal or passes for a line of its own."""
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), (of, line)
        # The reason of a failure may have several lines, which stand four blanks in.
        assert not re.match(f" {{0,3}}{FORGED}", line), (of, text)


@pytest.mark.parametrize(
    "words, status, kind", CALLS, ids=[words for words, *_ in CALLS]
)
def test_nothing_steers_a_terminal_or_a_spreadsheet(
    words, status, kind, place, monkeypatch
):
    odd_word = ODD.replace("\x00", "") + "\udcff"
    given = [
        word.replace("ODD", odd_word).replace("LABEL", LABEL)
        for word in words.split(" ")
    ]
    ended, out, err = call(monkeypatch, *given)
    assert ended == status, (out, err)
    for of, text in (("out", out), ("err", err)):
        require_harmless(text, of)
        assert "Traceback" not in text
    if kind in ("json", "records"):
        found = json.loads(out)
        assert kind == "json" or {each["mpi"] for each in found} >= {f"0{ODD}"}
    for path in place.rglob("*"):
        if path.is_file() and path.suffix in (".html", ".svg", ".md", ".xml"):
            require_harmless(path.read_text(), path)
