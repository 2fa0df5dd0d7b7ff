# SPDX-License-Identifier: BSD-3-Clause
"""Nothing in a record becomes HTML, style, script or drawing: all of it is text."""

import re
from dataclasses import asdict

import lxml.html
import pytest

from fabric_checks.core.metrics import Headline
from tests.report import records
from tests.report.conftest import html_of
from tests.report.records import record

HOSTILE = (
    "</script><script>window.broken = 1</script>",
    "</style><style>body { display: none }</style>",
    "<img src=x onerror='window.broken = 1'>",
    '" onmouseover="window.broken = 1" x="',
    "' autofocus onfocus='window.broken = 1",
    "javascript:window.broken=1",
    "</text></svg><script>window.broken = 1</script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "<!-- ]]> &lt;b&gt; &amp;",
    "$\\frac{1}{0}$ _under",
    "_starts with an underscore",
    "\x1b[31mred\x1b[0m \x07",
    "abc\u202egnp.exe\u2066",
    "a\nb\tc\x00d\ud800e",
    "x" * 5000,
)
#: Fields that hold any text.
FIELDS = (
    *(
        "system",
        "partition",
        "environ",
        "check",
        "test",
        "family",
        "layout",
        "metric",
        "quantity",
        "unit",
        "session",
    ),
    *(
        "fail_reason",
        "no_reference",
        "evidence",
        "reference_source",
        "program",
        "program_version",
        "stack",
        "mpi",
    ),
    *(
        "compiler",
        "binding",
        "collection",
        "reframe",
        "result",
        "case_result",
        "better",
        "spec_hash",
        "jobid",
    ),
)


def hostile_rows(text):
    """Return records with the text in every field that takes one, also where it goes into drawings."""
    encodable = text.encode("utf-8", "replace").decode()
    rows = [
        record(**{field: encodable})
        for field in FIELDS
        if field not in ("check", "metric")
    ]
    rows += records.streaming(system=encodable, mpi=encodable, nodelist=[encodable])
    rows += records.later(
        records.streaming(system=encodable, mpi=encodable, nodelist=[encodable]), 1
    )
    rows += [
        record(check=encodable),
        record(encodable),
        record(evidence="fitted", system=encodable),
    ]
    both = dict.fromkeys(("metric", "quantity", "unit"), encodable) | {
        "values": {encodable: 1, "b": 2}
    }
    rows += [record("latency_8B", 2.0, compared=both)]
    rows += [record(headline=asdict(Headline(encodable, encodable, encodable, 1)))]
    rows += [
        record(
            findings=[{"kind": encodable, "severity": "fault", "text": encodable}],
            not_offered={encodable: encodable},
        )
    ]
    series = {
        "check": "LammpsPpnSeries",
        "parameters": {"problem": encodable, "scaling": "fixed"},
        "unit": "s",
    }
    rows += [record("loop_time_2x1", **series)]
    rows += [
        record(
            reference=1.0,
            no_reference=None,
            result="fail",
            reference_source=encodable,
            system="elm",
        )
    ]
    return [*rows, records.failure(fail_reason=encodable, layout="4x1")]


@pytest.fixture(scope="module")
def plain():
    return lxml.html.fromstring(html_of(hostile_rows("harmless"), ["harmless"]))


def kinds(tree):
    """Return the tags of a page, and the attributes of each."""
    return {
        (element.tag, name)
        for element in tree.iter()
        if isinstance(element.tag, str)
        for name in ("", *element.attrib)
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_markup(plain, text):
    page = html_of(hostile_rows(text), [text])
    tree = lxml.html.fromstring(page)
    assert kinds(tree) == kinds(plain)
    assert [script.get("type") for script in tree.iter("script")] == [
        "application/json",
        None,
    ]
    assert len(list(tree.iter("style"))) == 1
    for element in tree.iter():
        for name, value in (
            element.attrib.items() if isinstance(element.tag, str) else ()
        ):
            assert not name.startswith("on")
            if name.endswith("href"):
                assert re.match(r"#|data:image/png;base64,|data:,$", value), (
                    element.tag,
                    value[:80],
                )
            if name in ("style", "class", "id"):
                assert "broken" not in value
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)


def test_text_is_shown_as_it_is():
    found = lxml.html.fromstring(
        html_of(
            [
                *records.streaming(system="<b>oak</b> & co"),
                *records.streaming(system="elm"),
            ]
        )
    )
    heads = {
        head.text_content() for head in found.xpath("//table[@id='table-2']/tbody//th")
    }
    assert heads == {"<b>oak</b> & co", "elm"}
    assert found.xpath("//ul[@class='legend']/li[normalize-space(.)='<b>oak</b> & co']")


def test_the_policy_allows_the_script_of_the_page_only(full_page):
    (policy,) = lxml.html.fromstring(full_page).xpath(
        "//meta[@http-equiv='Content-Security-Policy']/@content"
    )
    assert policy.startswith("default-src 'none'")
    script = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert re.fullmatch(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", script)
    assert "http" not in policy
