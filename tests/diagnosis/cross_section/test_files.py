# SPDX-License-Identifier: BSD-3-Clause
"""The command `fabric-checks rotate` on saved outputs."""

import json
import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from fabric_checks.cli import main
from tests.diagnosis.cross_section.model import Fabric, run, text_of


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves the output of a fabric."""

    def save(name, fabric):
        path = tmp_path / name
        path.write_text(text_of(run(fabric)))
        return str(path)

    return save


@pytest.mark.parametrize(
    ("faults", "status", "texts"),
    [
        ({"receivers": {12: 0.41}}, 1, ["node n12 receives at 0.41 of the rate of others, "]),
        ({}, 0, ["nothing stands out in what was measured", "MB/s, run 100.0 % at link/1"]),
    ],
)
def test_a_slow_node_is_named_and_the_exit_status_says_so(saved, faults, status, texts):
    done = CliRunner().invoke(main.cli, ["rotate", saved("a.txt", Fabric(16, 0.01, 1, **faults))])
    assert done.exit_code == status
    printed = " ".join(done.output.split())
    for text in ("a.txt: rotate, 16 nodes, 64 pairs", "the slowest pair is n", *texts):
        assert text in printed
    assert re.search(r"median_bandwidth +\S+ MB/s\n", done.output)


def test_several_runs_are_printed_as_json(saved):
    one, two = saved("a.txt", Fabric(16, 0.01, 1)), saved("b.txt", Fabric(16, 0.01, 2))
    found = json.loads(CliRunner().invoke(main.cli, ["rotate", one, two, "--json"]).output)
    assert set(found["runs"]) == {one, two}
    assert found["runs"][one]["metrics"]["median_bandwidth"] > 0
    assert set(found["units"]) == set(found["runs"][one]["metrics"])


def test_pictures_are_well_formed_and_name_the_hosts(saved, tmp_path):
    path = saved("a.txt", Fabric(16, 0.01, 1))
    done = CliRunner().invoke(main.cli, ["rotate", path, "--pictures", str(tmp_path / "out")])
    assert done.exit_code == 0
    ElementTree.parse(tmp_path / "out" / "pairs.svg")
    assert ">n15<" in (tmp_path / "out" / "pairs.svg").read_text()


def test_the_link_rate_can_be_given(saved):
    path = saved("a.txt", Fabric(32, 0.01, 1, sharing=(0.4, 0.6), single_MBps=670, link_MBps=968))
    done = CliRunner().invoke(main.cli, ["rotate", path, "--link-MBps", "968"])
    assert "with a link of 968 MB/s" in done.output and "link/2" in done.output


@pytest.mark.parametrize(("content", "message"), [("nothing\n", "the program did not start"), (None, "No such file")])
def test_what_is_no_output_is_one_line(tmp_path, content, message, capsys, monkeypatch):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr("sys.argv", ["fabric-checks", "rotate", str(path)])
    # An error of the file system ends the process without flushing what cannot be written.
    monkeypatch.setattr("os._exit", lambda status: (_ for _ in ()).throw(SystemExit(status)))
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 1
    error = capsys.readouterr().err
    assert message in error and "bad.txt" in error and error.count("\n") == 1


def test_a_host_name_cannot_move_the_cursor(saved, tmp_path):
    path = tmp_path / "evil.txt"
    text = text_of(run(Fabric(16, 0.01, 1, receivers={12: 0.41})))
    path.write_text(text.replace("host n12", "host n\x1b[2J12"))
    done = CliRunner().invoke(main.cli, ["rotate", str(path)])
    assert done.exit_code != 0 and "\x1b" not in f"{done.output}{done.exception}"
    assert str(done.exception).endswith("line 17: '\\x1b' is no character of this program: the output is damaged")
