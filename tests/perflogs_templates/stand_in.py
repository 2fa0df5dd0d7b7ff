# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for stores: servers that hold what is sent to the documented protocol, and keep it.

They are no stores. What real ones did with the same requests is told in perflogs-templates/README.md; the bodies of
OpenSearch's answers in `recorded` are from a real one.
"""

import base64
import json
import re
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

RECORDED = Path(__file__).resolve().parent / "recorded"


class Server:
    """A server on a free port of this host; its handler returns a status and a body for each request."""

    def __init__(self, answer):
        outer = self
        self.requests = []  # method, path, headers, body
        self.stop_hanging = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def respond(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.requests.append((self.command, self.path, dict(self.headers), body))
                status, text, *headers = answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_HEAD = do_POST = do_PUT = respond

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_hanging.set()
        self._server.shutdown()
        self._server.server_close()


def hanging():
    """Return a server that takes requests and never answers."""
    server = Server(lambda *_: server.stop_hanging.wait() and (503, b""))
    return server


def always(status, body=b"", *headers):
    """Return a server that gives one answer."""
    return Server(lambda *_: (status, body, *headers))


class OpenSearchStandIn(Server):
    """Template and bulk API; documents have to be of the types that the template says, fields that it knows."""

    def __init__(self):
        self.template, self.documents = None, {}
        super().__init__(self._answer)

    def _answer(self, method, path, headers, body):
        if path.startswith("/_index_template/"):
            if method == "PUT":
                assert headers["Content-Type"] == "application/json"
                self.template = json.loads(body)
                return 200, b'{"acknowledged":true}'
            return (200 if self.template else 404), b""
        if (method, path) != ("POST", "/_bulk"):
            return 405, b"no such API"
        if headers["Content-Type"] != "application/x-ndjson" or not body.endswith(b"\n"):
            return 400, b"The bulk request must be terminated by a newline [\\n]"
        lines = body.decode().split("\n")[:-1]
        items = []
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            ((kind, meta),) = json.loads(action).items()
            assert kind == "index" and set(meta) == {"_index", "_id"}
            document = json.loads(source)
            fault = self._fault(meta["_index"], document)
            if fault:
                error = {"type": "mapper_parsing_exception", "reason": fault}
                items.append({"index": {**meta, "status": 400, "error": error}})
            else:
                new = meta["_id"] not in self.documents
                self.documents[meta["_id"]] = document
                items.append({"index": {**meta, "status": 201 if new else 200}})
        errors = any(item["index"]["status"] >= 300 for item in items)
        return 200, json.dumps({"took": 1, "errors": errors, "items": items}).encode()

    def _fault(self, index, document):
        if not self.template or not any(
            re.fullmatch(pattern.replace("*", ".*"), index) for pattern in self.template["index_patterns"]
        ):
            return f"no template for {index}"
        fields = self.template["template"]["mappings"]["properties"]
        for name, value in document.items():
            if name not in fields:
                return f"{name} is in no mapping"
            for item in value if isinstance(value, list) else [value]:
                if item is not None and not fits(item, fields[name]):
                    return f"failed to parse field [{name}] of type [{fields[name].get('type')}]: {item!r}"
        return None


def fits(value, field):
    """Tell whether a JSON value is of a field's type without any conversion."""
    kind = field.get("type", "object")
    if kind == "object":
        return isinstance(value, dict)
    if kind == "date":
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    return type(value) in {"keyword": (str,), "text": (str,), "long": (int,), "double": (int, float)}[kind]


LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
LINE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)\{{({LABEL}(?:,{LABEL})*)?\}} (\S+)(?: (-?[0-9]+))?")


def exposition(body):
    """Parse Prometheus's text format 0.0.4 strictly; return name, labels, value, time in ms or None of each sample."""
    text = body.decode()
    assert text.endswith("\n")
    found, typed = [], []
    for line in text.split("\n")[:-1]:
        if line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name not in typed and kind == "gauge", line
            typed.append(name)
        elif not line.startswith("# HELP "):
            match = LINE.fullmatch(line)
            assert match, line
            # All lines of a metric are one group below its type.
            assert match[1] == typed[-1], line
            labels = dict(re.findall(r'([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"', match[2]))
            labels = {key: unescaped(value) for key, value in labels.items()}
            found.append((match[1], labels, float(match[3]), match[4] and int(match[4])))
    assert len({(name, time, *sorted(labels.items())) for name, labels, _, time in found}) == len(found), "twice"
    return found


def unescaped(value):
    """Return the text of a label: a backslash stands before a backslash, a quote, or the n of a line end."""
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), value)


class VictoriaMetricsStandIn(Server):
    """The import of samples in text."""

    def __init__(self):
        self.samples = []
        super().__init__(self._answer)

    def _answer(self, method, path, headers, body):
        if (method, path) != ("POST", "/api/v1/import/prometheus"):
            return 400, b"unsupported path requested"
        found = exposition(body)
        assert all(time is not None for *_, time in found)
        self.samples += found
        return 204, b""


class PushgatewayStandIn(Server):
    """PUT replaces a group; labels of the group may be in base64; times are refused."""

    def __init__(self):
        self.groups = {}
        super().__init__(self._answer)

    def _answer(self, method, path, headers, body):
        assert method == "PUT" and path.startswith("/metrics/job")
        parts = unquote(path).split("/")[2:]
        group = {}
        for label, value in zip(parts[::2], parts[1::2], strict=True):
            name, _, coded = label.partition("@")
            value += "=" * (-len(value) % 4)
            group[name] = base64.urlsafe_b64decode(value).decode() if coded else value
        found = exposition(body)
        if any(time is not None for *_, time in found):
            return 400, b"pushed metrics must not have timestamps"
        self.groups[tuple(sorted(group.items()))] = [(name, labels | group, value) for name, labels, value, _ in found]
        return 200, b""


class PrometheusStandIn(Server):
    """OTLP over HTTP in JSON, as the specification of OTLP 1 has it: no key but those of the protocol."""

    def __init__(self):
        self.samples = []
        super().__init__(self._answer)

    def _answer(self, method, path, headers, body):
        if (method, path, headers["Content-Type"]) != ("POST", "/api/v1/otlp/v1/metrics", "application/json"):
            return 415, b"unsupported"
        (resource,) = only(json.loads(body), "resourceMetrics")["resourceMetrics"]
        attributes(only(resource, "resource", "scopeMetrics")["resource"]["attributes"])
        (scope,) = resource["scopeMetrics"]
        for metric in only(scope, "scope", "metrics")["metrics"]:
            only(metric, "name", "description", "gauge")
            for point in only(metric["gauge"], "dataPoints")["dataPoints"]:
                only(point, "attributes", "timeUnixNano", "asDouble")
                # 64-bit integers are strings in the JSON form of protobuf.
                assert isinstance(point["timeUnixNano"], str) and isinstance(point["asDouble"], float)
                time_ms = int(point["timeUnixNano"]) // 10**6
                self.samples.append((metric["name"], attributes(point["attributes"]), point["asDouble"], time_ms))
        return 200, b"{}"


def only(item, *keys):
    """Assert that an object has these keys and no other; return it."""
    assert set(item) == set(keys)
    return item


def attributes(pairs):
    """Return the attributes of OTLP as a dictionary."""
    assert all(set(pair) == {"key", "value"} and set(pair["value"]) == {"stringValue"} for pair in pairs)
    return {pair["key"]: pair["value"]["stringValue"] for pair in pairs}
