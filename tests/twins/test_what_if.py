# SPDX-License-Identifier: BSD-3-Clause
"""The what-if command: alternatives whose rates can be worked out by hand, and the story of
docs/rotate-story.md.

The pictures of the story are made again and compared byte by byte. After a change of the model or of the
pictures::

    fabric-checks twin predict config/twins/examples/rotate-story.yaml --pictures docs/rotate-story
"""

import json
from pathlib import Path

import pytest

from fabric_twins import plan, what_if
from tests import calling
from tests.twins.conftest import SMALL
from tests.twins.simulation import ROOT, TWINS

STORY = TWINS / "examples/rotate-story.yaml"
PICTURES = ROOT / "docs/rotate-story"

ALTERNATIVES = """\
plan: healthy
alternatives:
- {name: slow host, faults: [{host: n1, fraction: 0.5}]}
- {name: cut in half, topology: {oversubscription: 3, ports: 8, levels: 2, link_MBps: 50}}
- {name: bigger links, inter_node: {rate_MBps: 200}, topology: {link_MBps: 200}}
"""


def predicted(file):
    return what_if.predict(plan.load(file), 0, lambda line: None)


@pytest.fixture
def planned(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text(SMALL + ALTERNATIVES)
    return file


@pytest.fixture
def outcomes(planned):
    return predicted(planned)


def test_the_values_follow_from_the_rates(outcomes):
    healthy, slow, cut, bigger = (outcome.values for outcome in outcomes)
    assert healthy["median_bandwidth"] == 100
    assert healthy["share_of_ideal"] == 100
    assert healthy["ideal_aggregate_bandwidth"] == 4 * 100
    assert slow["slowest_pair_bandwidth"] == 50
    assert slow["median_bandwidth"] == 100
    assert slow["share_of_ideal"] == 50
    assert slow["perceived_aggregate_bandwidth"] == 4 * 50
    # The pairs of a leaf with six hosts share two cables of 50 MB/s.
    assert cut["slowest_pair_bandwidth"] <= 50
    assert bigger["median_bandwidth"] == 200
    assert bigger["share_of_ideal"] == 100
    assert outcomes[1].slowest_pair[0] == "n1"


def test_the_text_is_marked_and_names_the_slowest_pair(outcomes, planned):
    lines = what_if.as_lines(planned, outcomes)
    assert lines[1].startswith(
        "PREDICTED by flows that share links, not measured. Its values: "
    )
    slow = next(line for line in lines if line.strip().startswith("slow host"))
    assert "n1 to n" in slow
    assert max(map(len, lines)) <= 120


def test_json_has_the_same_and_the_sources(outcomes, planned):
    found = json.loads(what_if.as_json(planned, outcomes))
    assert found["kind"] == "predicted" and found["units"]["median_bandwidth"] == "MB/s"
    assert found["alternatives"][1]["rotate"]["share_of_ideal"] == pytest.approx(
        50, rel=0.01
    )
    assert "inter_node.rate_MBps" in found["alternatives"][0]["sources"]["assumed"]


def test_the_command_writes_a_picture_of_each_and_one_of_all(planned, tmp_path):
    done = calling.invoke(
        "twin", "predict", planned, "--pictures", tmp_path / "pictures"
    )
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in (tmp_path / "pictures").iterdir()) == [
        "bigger-links.svg",
        "cut-in-half.svg",
        "distributions.svg",
        "healthy.svg",
        "slow-host.svg",
    ]


@pytest.fixture(scope="module")
def story():
    return predicted(STORY)


def test_the_pictures_of_the_story_are_not_stale(story, tmp_path):
    what_if.draw(story, tmp_path)
    assert sorted(file.name for file in PICTURES.iterdir()) == sorted(
        file.name for file in tmp_path.iterdir()
    )
    for file in PICTURES.iterdir():
        assert file.read_bytes() == (tmp_path / file.name).read_bytes(), (
            f"{file} is stale: {__doc__}"
        )


def test_the_story_has_the_table_and_shows_its_pictures(story):
    page = (ROOT / "docs/rotate-story.md").read_text()
    table = what_if.as_lines(STORY, story)[4:11]
    assert [line for line in table if line.strip() not in page] == []
    shown = [part.split(")")[0] for part in page.split("](rotate-story/")[1:]]
    assert len(shown) == 5
    assert all(Path(PICTURES, name).exists() for name in shown)


def test_the_story_has_the_rates_of_the_source(story):
    """One to five pairs share a cable that sustains 968 MB/s; a pair alone gets 670."""
    ideal, random, *_ = story
    assert ideal.matrix.measured == pytest.approx(670)
    rates = random.matrix.measured
    for rate_MBps in (670, 484, 323, 242, 194):
        assert (abs(rates / rate_MBps - 1) < 0.01).any(), rate_MBps
    near = [abs(rates / rate - 1) < 0.02 for rate in (670, 484, 323, 242, 194)]
    assert sum(near).astype(bool).mean() > 0.98
