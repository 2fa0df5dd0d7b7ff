# SPDX-License-Identifier: BSD-3-Clause
"""The evaluation of the files that `ports` leaves, without running it."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from fabric_checks.core.layouts import Layout
from fabric_checks.parsers.placement import RankPlace
from fabric_checks.reframe_ext.mixins import LayoutMixin, PlacementMixin, PortsMixin
from tests.conftest import TESTS

TREE = (TESTS / "golden/ports/infiniband.txt").read_text()
#: As if the first adapter had moved a thousand times as much.
MUCH = TREE.replace("port_xmit_data\t251000", "port_xmit_data\t251000000")


class Check(PortsMixin, PlacementMixin):
    """A check, as far as the mixin needs it."""

    ports_program, launch_suffix = "/x/ports", ""
    extras = LayoutMixin.extras
    job = SimpleNamespace(exitcode=0)

    def __init__(self, stage, layout="2x1", *, moved=None, features=(), **extras):
        self.stagedir = str(stage)
        self.current_layout = Layout.of(layout)
        self.moved = moved
        self.launches = [self.current_layout]
        self.current_partition = SimpleNamespace(
            extras=extras, features=features, fullname="s:p"
        )
        self.facts = SimpleNamespace(findings=None, ports=None)
        hosts = [f"n{i + 1}.domain" for i in range(self.current_layout.nodes)]
        ranks = [
            RankPlace(i, host, host, "0", frozenset()) for i, host in enumerate(hosts)
        ]
        self._ranks_of = {str(self.current_layout): ranks}

    def launched_in(self, _):
        return nullcontext()

    def outputs(self, text):
        return {self.current_layout: text}

    def moved_B(self, _):
        return self.moved

    def is_dry_run(self):
        return False

    def inside(self, words):
        return words

    of_image = inside


@pytest.fixture
def stage(tmp_path):
    folder = tmp_path / "ports"
    folder.mkdir()
    for node in ("n1", "n2"):
        (folder / f"{node}.txt").write_text(
            TREE.replace("# node: n1", f"# node: {node}")
        )
    return tmp_path


def test_the_command_line(stage):
    assert Check(stage).recorded(["osu_bw", "-m"]) == [
        "/x/ports",
        "--output",
        "ports",
        "--",
        "osu_bw",
        "-m",
    ]
    assert Check(stage, "1x2").recorded(["osu_bw"])[0] == "/x/ports"
    quiet = Check(stage, features=["simulated"])
    assert quiet.recorded(["osu_bw"]) == ["osu_bw"]


def test_the_named_network_carried_it(stage):
    check = Check(stage, fabric=["mlx5_0"], moved=1_900_000)
    check.facts.findings = [{"kind": "slowest pair", "text": "x"}]
    check.hold_to_ports("")
    assert check.facts.ports["carried_B"] == {"mlx5_0:1": 2_000_000, "eno1": 360}
    assert check.facts.ports["moved_B"] == 1_900_000
    texts = [found["text"] for found in check.facts.findings]
    # The findings of the analysis come first; then host, port and counter.
    assert texts[0] == "x" and texts[1].startswith(
        "node n1: symbol_error of mlx5_1:1 grew by 4000 in 20.0 s"
    )


def test_another_network_carried_it(stage):
    check = Check(stage, fabric=["mlx5_1"], moved=1_900_000)
    with pytest.raises(
        SanityError,
        match=r"^2 MB went over mlx5_0:1, 360 B went over eno1, none over mlx5_1",
    ):
        check.hold_to_ports("")
    assert check.facts.ports and check.facts.findings


def test_what_the_ports_say_of_a_program_that_failed(stage):
    check = Check(stage, fabric=["mlx5_1"], moved=1)
    check.note_ports()
    assert check.facts.ports["moved_B"] is None and check.facts.findings


def test_on_one_node_events_are_told_and_traffic_is_not_judged(stage):
    """Nor is what would judge it needed."""
    (stage / "ports/n2.txt").unlink()
    file = stage / "ports/n1.txt"
    xid = "/dev/kmsg\tNVRM: Xid (PCI:0000:18:00): 79\n"
    head, found, tail = file.read_text().rpartition("# rows: ")
    rows, _, end = tail.partition("\n")
    file.write_text(f"{head}{xid}{found}{int(rows) + 1}\n{end}")
    check = Check(stage, "1x2", fabric=["mlx5_1"], moved=10**9)
    check.note_ports()
    check.hold_to_ports("")
    (told,) = check.facts.findings
    assert "node n1: the kernel logged 1 message" in told["text"]
    assert not check.has_ports and check.facts.ports is None


def test_files_that_are_missing_or_damaged_prove_nothing_and_are_named(stage):
    (stage / "ports/n2.txt").write_text("junk\x1b[31m\n")
    check = Check(stage, "3x1", fabric=["mlx5_1"], moved=1_900_000)
    check.hold_to_ports("")
    texts = [found["text"] for found in check.facts.findings if found["kind"] == "wire"]
    assert len(texts) == 2 and all(text.isprintable() for text in texts)
    assert (
        texts[1]
        == "node n3.domain: nothing is known about the ports: no output file was written"
    )
    assert {
        found["severity"] for found in check.facts.findings if found["kind"] == "wire"
    } == {"note"}


def test_a_program_that_ran_on_other_nodes_than_its_probe_is_named(stage):
    """As steps of Slurm do that need fewer nodes than their job has."""
    text = (stage / "ports/n2.txt").read_text()
    (stage / "ports/n2.txt").unlink()
    (stage / "ports/n7.txt").write_text(text.replace("# node: n2", "# node: n7"))
    check = Check(stage)
    check.hold_to_ports("")
    texts = [found["text"] for found in check.facts.findings if found["kind"] == "wire"]
    assert texts == [
        "node n2.domain: nothing is known about the ports: no output file was written; n7 left one: the"
        " program ran on other nodes than the probe before it"
    ]
