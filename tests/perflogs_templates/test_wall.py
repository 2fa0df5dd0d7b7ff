# SPDX-License-Identifier: BSD-3-Clause
"""Alert rules and the dashboard: they ask for gauges that there are, and real programs of Prometheus take
them."""

import json
import re
import shutil
from contextlib import ExitStack
from datetime import datetime, timezone
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client import parser

from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.nightly.wall import gauges as made
from lab.wall import SYSTEM, TEMPLATES, Simulated, command, exporter, news, shown, wall
from tests import programs
from tests.conftest import TESTS
from tests.guard import wait_for

RULES = TEMPLATES / "prometheus-rules.yml"
DASHBOARD = json.loads((TEMPLATES / "grafana-dashboard.json").read_text())
QUERIES = {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}


def require(*programs):
    for each in programs:
        if shutil.which(each) is None:
            pytest.skip(
                f"no {each} here (Debian: prometheus, prometheus-node-exporter)"
            )


@pytest.fixture(scope="module")
def spent(tmp_path_factory):
    """Return the folder of the gauges of a simulated night with a slow node."""
    folder = tmp_path_factory.mktemp("wall")
    simulated = Simulated(folder / "results")
    simulated.judge(
        simulated.measure(datetime.now(timezone.utc), 17), folder / "metrics"
    )
    return folder / "metrics"


def gauges(folder):
    (path,) = folder.glob("*.prom")
    return path, {
        family.name: family
        for family in parser.text_string_to_metric_families(path.read_text())
    }


#: What a night of one machine does not have: other units, excesses of latency, vets.
ELSEWHERE = (
    r"fabric_checks_((value|reference)_(ratio|bytes|per_second|atom_steps_per_second)"
    r"|finding_excess_seconds|vet_nodes)"
)


def test_rules_and_dashboard_ask_for_gauges_that_there_are(spent):
    _, found = gauges(spent)
    rules = [
        rule["expr"]
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
    ]
    asked = {
        name
        for text in (*rules, *QUERIES.values())
        for name in re.findall(r"fabric_checks_\w+", text)
    }
    missing = {name for name in asked - set(found) if not re.fullmatch(ELSEWHERE, name)}
    assert len(asked) > 15 and not missing


def test_the_dashboard_has_its_panels_side_by_side_and_no_name_of_a_site():
    places = [
        (x, y)
        for at in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(places) == len(set(places)) and max(x for x, _ in places) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(
        DASHBOARD["panels"]
    )
    assert all(
        panel["datasource"]["uid"] == "${datasource}" for panel in DASHBOARD["panels"]
    )
    # Text from a label is never a link, HTML or Markdown of the page.
    assert not re.search(
        r'"(links|dataLinks)": \[\{|"type": "text"|"mode": "html"',
        json.dumps(DASHBOARD),
    )


def test_promtool_takes_the_rules_and_finds_nothing_to_say_of_the_gauges(spent):
    require("promtool")
    path, _ = gauges(spent)
    for line in (
        ["check", "rules", RULES],
        ["test", "rules", TESTS / "perflogs_templates/prometheus-rules-test.yml"],
    ):
        done = programs.run(["promtool", *line])
        assert done.returncode == 0 and "SUCCESS" in done.stdout + done.stderr, (
            done.stdout + done.stderr
        )
    done = programs.run(["promtool", "check", "metrics"], input=path.read_text())
    assert done.returncode == 0
    assert done.stdout + done.stderr == ""


def test_promtool_takes_the_queries_of_the_dashboard(tmp_path):
    require("promtool")
    rules = [
        {"record": f"q{number}", "expr": query.replace("$system", ".*")}
        for number, query in enumerate(QUERIES.values())
    ]
    (tmp_path / "rules.yml").write_text(
        json.dumps({"groups": [{"name": "queries", "rules": rules}]})
    )
    programs.succeed(["promtool", "check", "rules", tmp_path / "rules.yml"])


def test_a_slow_node_reaches_alert_and_command_within_its_night_and_a_healthy_one_ends_it():
    require("prometheus", "prometheus-node-exporter")
    with wall() as (folder, metrics, prometheus, heard):
        simulated = Simulated(folder / "results")
        for number, (slow, event) in enumerate(
            ((None, None), (17, "new"), (None, "closed"))
        ):
            began = datetime(2026, 1, 1 + number, tzinfo=timezone.utc)
            simulated.judge(simulated.measure(began, slow), metrics, command(heard))
            alerts = shown(prometheus, SYSTEM, began.timestamp())
            came = news(heard, began.strftime("%Y%m%d"))
            assert came == ([(event, "node n17")] if event else []), came
            assert [each["part"] for each in alerts] == (
                ["node n17"] if slow else []
            ), alerts
        assert len(news(heard)) == 2
        # Every panel that one machine without vets can fill has something to show.
        empty = [
            name
            for name, query in QUERIES.items()
            if not prometheus.ask(query.replace("$system", ".*"))
        ]
        assert sorted(empty) == [
            "Nodes by verdict of vets A",
            *(f"Open findings {one}" for one in "ABC"),
        ]


def test_hostile_names_pass_through_the_exporter_as_text(tmp_path):
    require("prometheus-node-exporter")
    name = 'n1" } 1\nfabric_checks_vet_nodes{x="\\'
    made.of_vet("sys:p", "20260101T000000Z-0001", Verdicts({name: Word.SLOW})).write(
        tmp_path, "vet"
    )

    def read():
        try:
            return urlopen(f"http://{at}/metrics").read().decode()
        except OSError:
            return None

    with ExitStack() as opened:
        at = opened.enter_context(exporter(tmp_path, tmp_path))
        text = wait_for(read, "node_exporter does not answer")
    assert "node_textfile_scrape_error 0" in text
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith("fabric_checks_vet_node_verdict{")
    ]
    assert r'node="n1\" } 1 fabric_checks_vet_nodes{x=\"\\"' in line
