# SPDX-License-Identifier: BSD-3-Clause
"""The Grafana dashboards: what Grafana's own model of them knows, with queries for what the stores have."""

import json
import re
import subprocess
import sys

import pytest
import yaml

from fabric_checks.results.perflogs.fragments import TEMPLATES
from fabric_checks.results.perflogs.opensearch import TEMPLATE
from fabric_checks.results.perflogs.samples import CASE_LABELS, FIGURE_LABELS, HELP

NAMES = ("metrics", "opensearch", "elasticsearch")
VARIABLES = ["datasource", "system", "partition", "environ", "test", "metric"]
FIELDS = json.loads(TEMPLATE.read_text())["template"]["mappings"]["properties"]


def load(name):
    return json.loads((TEMPLATES / "dashboards" / f"{name}.json").read_text())


def targets(dashboard):
    return [(panel["title"], target) for panel in dashboard["panels"] for target in panel["targets"]]


def test_they_are_what_their_script_makes(tmp_path):
    copy = tmp_path / "make.py"
    copy.write_text((TEMPLATES / "dashboards/make.py").read_text())
    subprocess.run([sys.executable, copy], check=True)
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == sorted(NAMES)
    for name in NAMES:
        assert json.loads((tmp_path / f"{name}.json").read_text()) == load(name)


def lost(ours, theirs, place=""):
    """Yield the places of what is in a dashboard and not in what the SDK made of it."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from lost(value, theirs[key], f"{place}/{key}")
            elif value not in ([], {}, None):
                yield f"{place}/{key}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from lost(one, other, f"{place}/{number}")
    elif ours != theirs:
        yield place


@pytest.mark.parametrize("name", NAMES)
def test_grafana_s_sdk_knows_every_key(name):
    """A key that Grafana does not know is dropped by its model: what comes back has to be what went in."""
    models = pytest.importorskip(
        "grafana_foundation_sdk.models.dashboard", reason="no grafana-foundation-sdk here; it is on PyPI"
    )
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    ours = load(name)
    theirs = json.loads(JSONEncoder().encode(models.Dashboard.from_json(json.loads(json.dumps(ours)))))
    assert list(lost(ours, theirs)) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_has_the_variables_and_the_panels(name):
    dashboard = load(name)
    assert [variable["name"] for variable in dashboard["templating"]["list"]] == VARIABLES
    titles = [panel["title"] for panel in dashboard["panels"]]
    for title in (
        "Latest against reference",
        "Figures over time",
        "Rotate: slowest pair",
        "Rotate: faults",
        "Failed cases",
    ):
        assert title in titles
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(titles)


@pytest.mark.parametrize("name", NAMES)
def test_panels_do_not_overlap(name):
    taken = set()
    for panel in load(name)["panels"]:
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        cells = {(grid["x"] + x, grid["y"] + y) for x in range(grid["w"]) for y in range(grid["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_queries_of_metrics_ask_for_series_and_labels_that_there_are():
    known = {*FIGURE_LABELS, "job"}
    dashboard = load("metrics")
    queries = [target["expr"] for _, target in targets(dashboard)]
    queries += [variable["query"]["query"] for variable in dashboard["templating"]["list"][1:]]
    for query in queries:
        assert set(re.findall(r"fabric_checks_\w+", query)) <= set(HELP), query
        assert set(re.findall(r"(\w+)=~?\"", query)) <= known, query
        for chosen in re.findall(r"(?:by|on) \(([^)]*)\)", query):
            assert {label.strip() for label in chosen.split(",")} <= known, query
        for series, choice in re.findall(r"(fabric_checks_(?:case_passed|time_seconds))\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)=~?\"", choice)) <= set(CASE_LABELS), (series, query)


@pytest.mark.parametrize("name", ["opensearch", "elasticsearch"])
def test_queries_of_documents_ask_for_fields_that_are_indexed(name):
    for title, target in targets(load(name)):
        for field in re.findall(r"(\w[\w.@]*):", target["query"].replace("${", "").replace(":lucene}", "")):
            assert field in FIELDS or field == "_exists_", (title, field)
        for aggregation in (*target["metrics"], *target["bucketAggs"]):
            field = aggregation.get("field")
            assert field is None or FIELDS[field]["type"] in ("keyword", "double", "date"), (title, field)


def test_the_two_of_documents_differ_in_their_plugin_only():
    one, other = (json.dumps(load(name)) for name in ("opensearch", "elasticsearch"))
    one = re.sub(r', "queryType": "lucene", "luceneQueryType": "\w+"', "", one)
    for word in ("grafana-opensearch-datasource", "opensearch", "OpenSearch"):
        one = one.replace(word, "elasticsearch" if word != "OpenSearch" else "Elasticsearch")
    assert one == other


#: The keys of the structures that Grafana reads provisioning files into: upsertDataSourceFromConfigV1 of
#: pkg/services/provisioning/datasources/types.go, and the documentation for providers of dashboards.
SOURCE_KEYS = {
    *("orgId", "version", "name", "type", "access", "url", "user", "database", "basicAuth", "basicAuthUser", "uid"),
    *("withCredentials", "isDefault", "correlations", "jsonData", "secureJsonData", "editable"),
}
PROVIDER_KEYS = {
    *("name", "orgId", "type", "folder", "folderUid", "disableDeletion", "editable", "updateIntervalSeconds"),
    *("allowUiUpdates", "options"),
}


def test_provisioning_files_are_of_grafana_s_form():
    sources = yaml.safe_load((TEMPLATES / "provisioning/datasources.yaml").read_text())
    providers = yaml.safe_load((TEMPLATES / "provisioning/dashboards.yaml").read_text())
    assert set(sources) == {"apiVersion", "datasources"} and set(providers) == {"apiVersion", "providers"}
    for source in sources["datasources"]:
        assert set(source) <= SOURCE_KEYS
        # No secret is in the file.
        assert all(re.fullmatch(r"\$\{\w+\}", value) for value in source.get("secureJsonData", {}).values())
    for provider in providers["providers"]:
        assert set(provider) <= PROVIDER_KEYS
    types = {load(name)["templating"]["list"][0]["query"] for name in NAMES}
    assert types == {source["type"] for source in sources["datasources"]}
