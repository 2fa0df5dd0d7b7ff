#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the Grafana dashboards of this folder: metrics.json, opensearch.json and elasticsearch.json.

They are made, so that the three show the same; change this file and run it. Grafana's dashboard JSON model:
https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
LABELS = ("system", "partition", "environ", "test", "metric")
#: What tells figures apart; `evidence` marks those of a simulation.
SERIES = ("system", "partition", "environ", "test", "layout", "metric", "unit", "evidence")
CASE = ("system", "partition", "environ", "test", "layout")
RED, GREEN, BLUE, GREY = "red", "green", "blue", "#8e8e8e"


def dashboard(uid, title, source, variables, panels):
    """Return a dashboard; the panels are placed below each other, `w` of 24 columns wide."""
    x = y = row = 0
    for number, panel in enumerate(panels, 1):
        width, height = panel.pop("size")
        if x + width > 24:
            x, y, row = 0, y + row, 0
        panel |= {"id": number, "gridPos": {"h": height, "w": width, "x": x, "y": y}, "datasource": source}
        x, row = x + width, max(row, height)
    kind = {"type": "datasource", "name": "datasource", "label": "Data source", "query": source["type"], "refresh": 1}
    return {
        "uid": uid,
        "title": title,
        "description": "Figures against their references. Those of a simulation say so under evidence.",
        "tags": ["fabric-checks"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "5m",
        "time": {"from": "now-30d", "to": "now"},
        "annotations": {"list": []},
        "templating": {"list": [kind, *variables]},
        "panels": panels,
    }


def variable(name, query, source):
    """Return a variable with all of its values chosen."""
    return {
        "type": "query",
        "name": name,
        "label": name,
        "query": query,
        "datasource": source,
        "refresh": 2,
        "sort": 7,
        "multi": True,
        "includeAll": True,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def panel(kind, title, size, description, targets, **more):
    """Return a panel."""
    field = {"defaults": more.pop("defaults", {}), "overrides": more.pop("overrides", [])}
    return {
        "type": kind,
        "title": title,
        "description": description,
        "size": size,
        "targets": targets,
        "fieldConfig": field,
        "options": OPTIONS[kind] | more.pop("options", {}),
        **more,
    }


def by_name(name, **properties):
    """Return how a column is shown."""
    return _override({"id": "byName", "options": name}, properties)


def by_query(ref, **properties):
    """Return how the result of a query is shown."""
    return _override({"id": "byFrameRefID", "options": ref}, properties)


def _override(matcher, properties):
    return {
        "matcher": matcher,
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def coloured(*steps):
    """Return the properties of a cell whose background tells what its value means."""
    return {
        "thresholds": {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]},
        "custom__cellOptions": {"type": "color-background"},
    }


def line(color):
    """Return the properties of a bound: a dashed line without points."""
    return {
        "color": {"mode": "fixed", "fixedColor": color},
        "custom__lineStyle": {"fill": "dash", "dash": [8, 8]},
        "custom__showPoints": "never",
    }


BOUNDS = [by_query("reference", **line(BLUE)), by_query("lower", **line(GREY)), by_query("upper", **line(GREY))]
POINTS = {
    "custom": {"drawStyle": "line", "lineInterpolation": "linear", "showPoints": "always", "spanNulls": True},
}
OPTIONS = {
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showPercentChange": False,
        "textMode": "auto",
        "wideLayout": True,
    },
    "table": {"cellHeight": "sm", "frameIndex": 0, "showHeader": True},
    "timeseries": {
        "legend": {"calcs": ["lastNotNull"], "displayMode": "table", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "none"},
    },
}
SHARE = {"unit": "percentunit", **coloured((None, "transparent"))}
PASSED = {
    "mappings": [
        {"type": "value", "options": {"0": {"text": "no", "color": RED}, "1": {"text": "yes", "color": GREEN}}}
    ],
    "custom__cellOptions": {"type": "color-text"},
}


def metrics():
    """Return the dashboard for VictoriaMetrics and Prometheus."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    figures = ", ".join(f'{name}=~"${name}"' for name in LABELS)
    cases = ", ".join(f'{name}=~"${name}"' for name in LABELS if name != "metric")

    def latest(name, choice=figures, labels=SERIES):
        # Results come once a night: an instant query without a range would find those of the last minutes.
        return f"max by ({', '.join(labels)}) (last_over_time(fabric_checks_{name}{{{choice}}}[$__range]))"

    def table(ref, expr):
        return {"refId": ref, "datasource": source, "expr": expr, "format": "table", "instant": True, "range": False}

    def series(ref, expr, legend):
        return {
            "refId": ref,
            "datasource": source,
            "expr": expr,
            "legendFormat": legend,
            "range": True,
            "instant": False,
        }

    def drawn(
        ref, name, choice=figures, legend="{{system}}:{{partition}} {{environ}} {{test}} {{metric}} {{evidence}}"
    ):
        word = "" if name == "value" else f"{name.replace('_', ' ')} of "
        return series(ref, f"last_over_time(fabric_checks_{name}{{{choice}}}[$__interval])", word + legend)

    def of_rotate(metric):
        return f'{cases}, check=~"Rotate.*", metric="{metric}"'

    def variables():
        chosen = []
        for name in LABELS:
            what = "fabric_checks_value" + (f"{{{', '.join(chosen)}}}" if chosen else "")
            query = f"label_values({what}, {name})"
            yield variable(name, {"query": query, "refId": f"variable-{name}"}, source)
            chosen.append(f'{name}=~"${name}"')

    hidden = {"Time": True, "Time 1": True}
    panels = [
        panel(
            "stat", "Failed cases", (4, 4), "Cases whose latest run in the time range failed",
            [table("A", f"count({latest('case_passed', cases, CASE)} == 0) or vector(0)")],
            defaults=_stat(),
        ),
        panel(
            "stat", "Figures out of bounds", (4, 4), "Figures whose latest value is out of its bounds",
            [table("A", f"count({latest('passed')} == 0) or vector(0)")],
            defaults=_stat(),
        ),
        panel(
            "stat", "Faults found by rotate", (4, 4), "Nodes and paths that the latest run of each rotate calls slow",
            [table("A", f"sum({latest('value', of_rotate('faults'))}) or vector(0)")],
            defaults=_stat(),
        ),
        panel(
            "stat", "Cases", (4, 4), "Cases with a result in the time range",
            [table("A", f"count({latest('case_passed', cases, CASE)}) or vector(0)")],
        ),
        panel(
            "table", "Latest against reference", (24, 11), "Every figure's latest value, its reference and its bounds",
            [
                table("value", latest("value")),
                table("reference", latest("reference")),
                table("lower", latest("lower_bound")),
                table("upper", latest("upper_bound")),
                table("share", f"{latest('value')} / {latest('reference')}"),
                table("passed", latest("passed")),
            ],
            transformations=[
                {"id": "merge", "options": {}},
                _organize(hidden, {
                    "Value #value": "value", "Value #reference": "reference", "Value #lower": "lower bound",
                    "Value #upper": "upper bound", "Value #share": "of reference", "Value #passed": "passed",
                }),
            ],
            overrides=[by_name("of reference", **SHARE), by_name("passed", **PASSED)],
        ),
        panel(
            "timeseries", "Figures over time", (24, 11), "Dashed: the reference and its bounds. Choose few metrics",
            [drawn("value", "value"), drawn("reference", "reference"), drawn("lower", "lower_bound"),
             drawn("upper", "upper_bound")],
            defaults=POINTS,
            overrides=BOUNDS,
        ),
        panel(
            "timeseries", "Rotate: slowest pair", (12, 9), "The slowest pair of nodes in percent of the median pair",
            [drawn("A", "value", of_rotate("slowest_to_median"))],
            defaults={"unit": "percent", "min": 0, **POINTS},
        ),
        panel(
            "timeseries", "Rotate: faults", (12, 9), "Nodes and paths found slow; their names are in the records",
            [drawn("A", "value", of_rotate("faults"))],
            defaults={"decimals": 0, "min": 0, **POINTS},
        ),
        panel(
            "table", "Failed cases", (24, 9), "Cases whose latest run failed, and when that was; why is in the records",
            [table("A", f"1000 * {latest('time_seconds', cases, CASE)} and on ({', '.join(CASE)}) "
                        f"({latest('case_passed', cases, CASE)} == 0)")],
            transformations=[_organize({"Time": True}, {"Value": "run"})],
            overrides=[by_name("run", unit="dateTimeAsIso")],
        ),
    ]  # fmt: skip
    return dashboard("fabric-checks-metrics", "Fabric checks (metrics)", source, list(variables()), panels)


def _stat():
    return {
        "decimals": 0,
        "thresholds": {"mode": "absolute", "steps": [{"value": None, "color": GREEN}, {"value": 1, "color": RED}]},
    }


def _organize(hidden, renamed, order=None):
    options = {"excludeByName": hidden, "renameByName": renamed}
    return {"id": "organize", "options": options | ({"indexByName": order} if order else {})}


def documents(kind, uid, title):
    """Return the dashboard for OpenSearch or Elasticsearch.

    :param kind: the type of the data source.
    """
    source = {"type": kind, "uid": "${datasource}"}
    chosen = " AND ".join(f"{name}:${{{name}:lucene}}" for name in LABELS)
    cases = " AND ".join(f"{name}:${{{name}:lucene}}" for name in LABELS if name != "metric")

    def target(ref, query, metric, *, buckets=(), alias="", mode="Metric"):
        made = {"refId": ref, "datasource": source, "query": query, "timeField": "@timestamp",
                "metrics": [{"id": "1", **metric}], "bucketAggs": list(buckets), "alias": alias}  # fmt: skip
        # OpenSearch's plugin asks for both; Elasticsearch's knows neither.
        return made if kind == "elasticsearch" else made | {"queryType": "lucene", "luceneQueryType": mode}

    def raw(ref, query, size=500):
        return target(ref, query, {"type": "raw_data", "settings": {"size": str(size)}}, mode="RawData")

    def over_time(ref, query, field, how="avg", word=""):
        terms = [
            {"id": str(number), "type": "terms", "field": field, "settings": {
                "size": "50", "order": "desc", "orderBy": "_count", "min_doc_count": "1"}}
            for number, field in enumerate(("system", "test", "metric"), 2)
        ]  # fmt: skip
        when = {"id": "9", "type": "date_histogram", "field": "@timestamp",
                "settings": {"interval": "auto", "min_doc_count": "1"}}  # fmt: skip
        alias = f"{word}{{{{term system}}}} {{{{term test}}}} {{{{term metric}}}}"
        return target(ref, query, {"type": how, "field": field}, buckets=[*terms, when], alias=alias)

    def count(query):
        when = {"id": "2", "type": "date_histogram", "field": "@timestamp",
                "settings": {"interval": "auto", "min_doc_count": "0"}}  # fmt: skip
        return target("A", query, {"type": "count"}, buckets=[when])

    def table(title, size, description, query, columns, **more):
        fields = {name: place for place, name in enumerate(columns)}
        before = more.pop("before", [])
        # Raw documents have every field: those that are not named are not shown.
        names = {"id": "filterFieldsByName", "options": {"include": {"names": list(columns)}}}
        order = _organize({}, {}, fields)
        return panel(
            "table", title, size, description, [raw("A", query)], transformations=[*before, names, order], **more
        )

    def latest_first(fields):
        grouped = {name: {"aggregations": [], "operation": "groupby"} for name in SERIES}
        grouped |= {name: {"aggregations": ["first"], "operation": "aggregate"} for name in fields}
        return [
            {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": "@timestamp", "desc": True}]}},
            {"id": "groupBy", "options": {"fields": grouped}},
        ]

    variables = [
        variable(name, json.dumps({"find": "terms", "field": name, "size": 1000}), source) | {"allValue": "*"}
        for name in LABELS
    ]
    values = ("@timestamp", "value", "reference", "lower_bound", "upper_bound", "result", "no_reference")
    rotate = f"{cases} AND check:Rotate*"
    total = {"reduceOptions": {"calcs": ["sum"], "fields": "", "values": False}}
    panels = [
        panel(
            "stat", "Records of failed cases", (6, 4), "In the time range",
            [count(f"{cases} AND case_result:fail")], defaults=_stat(), options=total,
        ),
        panel(
            "stat", "Figures out of bounds", (6, 4), "In the time range",
            [count(f"{chosen} AND result:fail")], defaults=_stat(), options=total,
        ),
        panel(
            "stat", "Runs of rotate with faults", (6, 4), "In the time range",
            [count(f"{rotate} AND metric:faults AND value:>0")], defaults=_stat(), options=total,
        ),
        table(
            "Latest against reference", (24, 11), "Each figure's latest of the newest 5000 records",
            f"{chosen} AND _exists_:value",
            (*SERIES, *(f"{name} (first)" for name in values)),
            before=latest_first(values),
        ),
        panel(
            "timeseries", "Figures over time", (24, 11), "Dashed: the reference and its bounds. Choose few metrics",
            [over_time("value", chosen, "value"), over_time("reference", chosen, "reference", "max", "reference of "),
             over_time("lower", chosen, "lower_bound", "max", "lower bound of "),
             over_time("upper", chosen, "upper_bound", "min", "upper bound of ")],
            defaults=POINTS,
            overrides=BOUNDS,
        ),
        panel(
            "timeseries", "Rotate: slowest pair", (12, 9), "The slowest pair of nodes in percent of the median pair",
            [over_time("A", f"{rotate} AND metric:slowest_to_median", "value", "min")],
            defaults={"unit": "percent", "min": 0, **POINTS},
        ),
        table(
            "Rotate: faults", (12, 9), "The runs that found a node or a path slow, and which",
            f"{rotate} AND metric:faults AND value:>0",
            ("@timestamp", "system", "environ", "layout", "value", "findings", "evidence", "session"),
        ),
        table(
            "Failed cases", (24, 9), "Newest first",
            f"{cases} AND case_result:fail",
            ("@timestamp", "system", "partition", "environ", "test", "fail_reason", "nodelist", "jobid", "session"),
        ),
    ]  # fmt: skip
    panels[3]["targets"][0]["metrics"][0]["settings"]["size"] = "5000"
    return dashboard(uid, f"Fabric checks ({title})", source, variables, panels)


def main():
    """Write the files."""
    for name, made in {
        "metrics": metrics(),
        "opensearch": documents("grafana-opensearch-datasource", "fabric-checks-opensearch", "OpenSearch"),
        "elasticsearch": documents("elasticsearch", "fabric-checks-elasticsearch", "Elasticsearch"),
    }.items():
        (HERE / f"{name}.json").write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
