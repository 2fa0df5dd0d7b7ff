# SPDX-License-Identifier: BSD-3-Clause
"""The what-if command: alternatives whose rates can be worked out by hand, and the story of docs/rotate-story.md.

The pictures of the story are simulated again and compared byte by byte. After a change of the simulation or of the
pictures::

    fabric-checks twin predict config/twins/examples/rotate-story.yaml --confirm --pictures docs/rotate-story
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric_checks.cli.main import cli
from fabric_twins import plan, what_if
from fabric_twins.simulate import Bounds
from tests.twins.conftest import SMALL
from tests.twins.simulation import ROOT, TWINS, simgrid

STORY = TWINS / "examples" / "rotate-story.yaml"
PICTURES = ROOT / "docs" / "rotate-story"

ALTERNATIVES = """\
plan: healthy
alternatives:
- {name: slow host, faults: [{host: n1, fraction: 0.5}]}
- {name: cut in half, topology: {oversubscription: 3, ports: 8, levels: 2, link_MBps: 50}}
- {name: bigger links, inter_node: {rate_MBps: 200}, topology: {link_MBps: 200}}
"""


def simulated(file, *questions, **more):
    return what_if.simulate(plan.load(file), what_if.Questions(*questions, **more), Bounds(), lambda line: None)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    file = tmp_path_factory.mktemp("plan") / "p.yaml"
    file.write_text(SMALL + ALTERNATIVES)
    return file


@pytest.fixture(scope="module")
def outcomes(planned):
    return simulated(planned)


@pytest.fixture(scope="module")
def with_alltoall(planned):
    """Of two, because Alltoall costs more than everything else together: links of 100 MB/s and of 200."""
    two = [each for each in plan.load(planned) if each.name in ("healthy", "bigger links")]
    return what_if.simulate(two, what_if.Questions(alltoall=True), Bounds(), lambda line: None)


@pytest.mark.parametrize(("nodes", "size_B"), [(8, 2 << 20), (64, 2 << 20), (128, 1 << 20), (512, 256 << 10)])
def test_messages_get_smaller_with_the_number_of_nodes(nodes, size_B):
    assert what_if.message_B(nodes) == size_B and what_if.message_B(4096) == 256 << 10


@simgrid
def test_the_values_follow_from_the_rates(outcomes):
    healthy, slow, cut, bigger = (outcome.values for outcome in outcomes)
    assert healthy["median_bandwidth"] == pytest.approx(100, rel=0.01)
    assert healthy["share_of_ideal"] == pytest.approx(100, rel=0.01)
    assert healthy["ideal_aggregate_bandwidth"] == pytest.approx(4 * 100, rel=0.01)
    assert slow["slowest_pair_bandwidth"] == pytest.approx(50, rel=0.01)
    assert slow["median_bandwidth"] == pytest.approx(100, rel=0.01)
    assert slow["perceived_aggregate_bandwidth"] == pytest.approx(4 * 50, rel=0.01)
    assert slow["share_of_ideal"] == pytest.approx(50, rel=0.01)
    # The pairs of a leaf with six hosts share two cables of 50 MB/s.
    assert cut["slowest_pair_bandwidth"] < 51
    assert bigger["median_bandwidth"] == pytest.approx(200, rel=0.01)
    assert bigger["share_of_ideal"] == pytest.approx(100, rel=0.01)
    assert outcomes[1].slowest_pair[0] == "n1"


@simgrid
def test_alltoall_on_request(with_alltoall, planned):
    assert [outcome.alternative.name for outcome in with_alltoall] == ["healthy", "bigger links"]
    for outcome in with_alltoall:
        assert list(outcome.alltoall_us) == [8, 16384]
        # Everybody gets 7 x 16 KiB through a link.
        rate = outcome.alternative.twin.inter_node.rate_MBps
        assert outcome.alltoall_us[16384] >= 7 * 16384 / rate
    text = "\n".join(what_if.as_lines(planned, with_alltoall))
    assert "Alltoall: time of an operation in us" in text


@simgrid
def test_the_text_is_marked_and_names_units_and_the_slowest_pair(outcomes, planned):
    lines = what_if.as_lines(planned, outcomes)
    assert lines[1].startswith("PREDICTED by simulation, not measured. Its values: ") and "assumed" in lines[1]
    head = "alternative median p10 slowest slowest pair aggregate perceived of ideal"
    assert " ".join(lines[4].split()) == head and lines[5].split() == ["MB/s", "MB/s", "MB/s", "GB/s", "GB/s", "%"]
    slow = next(line for line in lines if line.strip().startswith("slow host"))
    assert "n1 to n" in slow
    assert max(map(len, lines)) <= 120


@simgrid
def test_json_has_the_same_and_the_sources(outcomes, planned):
    found = json.loads(what_if.as_json(planned, outcomes))
    assert found["kind"] == "predicted" and found["units"]["median_bandwidth"] == "MB/s"
    assert [each["name"] for each in found["alternatives"]] == ["healthy", "slow host", "cut in half", "bigger links"]
    assert found["alternatives"][1]["rotate"]["share_of_ideal"] == pytest.approx(50, rel=0.01)
    assert "inter_node.rate_MBps" in found["alternatives"][0]["sources"]["assumed"]


@simgrid
def test_fewer_rounds_on_request(planned):
    outcome = simulated(planned, shifts=2)[0]
    assert len(outcome.report.output.scan) == 8


@simgrid
def test_the_command_is_reproducible_and_names_the_culprit(planned, tmp_path):
    runs = []
    for name in ("a", "b"):
        command = ["twin", "predict", str(planned), "--confirm", "--pictures", str(tmp_path / name)]
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        files = sorted((tmp_path / name).iterdir())
        runs.append((done.stdout, [(file.name, file.read_bytes()) for file in files]))
    assert runs[0] == runs[1]
    assert [name for name, _ in runs[0][1]] == [
        *("bigger-links.svg", "cut-in-half.svg", "distributions.svg", "healthy.svg", "slow-host.svg")
    ]
    assert "healthy: nothing stands out in what was measured" in runs[0][0]
    assert "node n1 " in runs[0][0] and " at 0.50 of the rate of others, alone as well" in runs[0][0]


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    outcomes = simulated(STORY, confirm=True)
    what_if.draw(outcomes, folder)
    return "\n".join(what_if.as_lines(STORY, outcomes)), folder, outcomes


@simgrid
def test_the_pictures_of_the_story_are_not_stale(story):
    _, folder, _ = story
    assert sorted(file.name for file in PICTURES.iterdir()) == sorted(file.name for file in folder.iterdir())
    for file in PICTURES.iterdir():
        assert file.read_bytes() == (folder / file.name).read_bytes(), f"{file} is stale: {__doc__}"


@simgrid
def test_the_table_and_the_findings_in_the_story_are_not_stale(story):
    text, _, _ = story
    page = (ROOT / "docs/rotate-story.md").read_text()
    table = [line for line in text.splitlines()[4:11] if line.strip()]
    assert len(table) == 7
    (named,) = (line for line in text.splitlines() if line.strip().startswith("cable "))
    assert "cable leaf-2 to spine-5 runs both ways at 0.36 of the rate of others, alone as well" in named
    for line in [*table, named]:
        assert line.strip() in text and line.strip() in page, f"not in the story: {line}"


def test_the_story_shows_five_pictures_that_exist():
    page = (ROOT / "docs/rotate-story.md").read_text()
    shown = [part.split(")")[0] for part in page.split("](rotate-story/")[1:]]
    assert len(shown) == 5
    assert all(Path(PICTURES, name).exists() for name in shown)


@simgrid
def test_the_story_has_the_rates_of_the_source(story):
    """One to five pairs share a cable that sustains 968 MB/s; a pair alone gets 670."""
    _, _, outcomes = story
    ideal, random, *_ = outcomes
    assert ideal.report.matrix.measured == pytest.approx(670, rel=0.01)
    rates = random.report.matrix.measured
    for rate_MBps in (670, 484, 323, 242, 194):
        assert (abs(rates / rate_MBps - 1) < 0.01).any(), rate_MBps
    near = [abs(rates / rate - 1) < 0.02 for rate in (670, 484, 323, 242, 194)]
    assert sum(near).astype(bool).mean() > 0.98
