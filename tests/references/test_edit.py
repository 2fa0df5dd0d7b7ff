# SPDX-License-Identifier: BSD-3-Clause
"""Changes of a reference file change nothing else."""

import difflib
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_checks.core.errors import ReferenceError
from fabric_checks.references import reference_file
from fabric_checks.references.edit import Setting, edited

FILE = """\
# Head of the file.

OsuLatency:
  $index: [$partition, $environ, layout]   # three of them
  yours:compute:
    mpich-cray:
      1x2:
        latency_0B: [1.30, null, 0.1, us]  # accepted in May
        # about the next one
        latency_8B: [1.5, null, 0.10, "us"]

        latency_16B: [$xfail, 'it''s known', [2, null, 0.1, us]]
  # about the next partition
  "yours:gpu": {mpich: {1x2: {latency_0B: [3.0, null, 0.1, us]}}}
# What has none.
no_reference:
- {check: OsuLatency, metric: 'latency_(?!0B$).*', why: one size is judged}   # so far
- check: '(?!OsuLatency$).*'
  why: >
    no values
    yet

# The end.
"""
INDEX = ("$partition", "$environ", "layout")
REFERENCE = (1.25, None, 0.05, "us")


def change(*keys, reference=REFERENCE, comment="from 7 runs 2026-11-01"):
    return Setting(keys, INDEX, reference, comment)


def differences(before, after):
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


HERE = ("OsuLatency", "yours:compute", "mpich-cray", "1x2")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            (*HERE, "latency_0B"),
            [
                "-         latency_0B: [1.30, null, 0.1, us]  # accepted in May",
                "+         latency_0B: [1.25, null, 0.05, us]  # accepted in May; from 7 runs 2026-11-01",
            ],
        ),
        (
            (*HERE, "latency_8B"),
            [
                '-         latency_8B: [1.5, null, 0.10, "us"]',
                "+         latency_8B: [1.25, null, 0.05, us]  # from 7 runs 2026-11-01",
            ],
        ),
        ((*HERE, "latency_1B"), ["+         latency_1B: [1.25, null, 0.05, us]  # from 7 runs 2026-11-01"]),
        (
            ("OsuLatency", "yours:compute", "mpich-cray", "2x1", "latency_1B"),
            ["+       2x1:", "+         latency_1B: [1.25, null, 0.05, us]  # from 7 runs 2026-11-01"],
        ),
        (
            ("OsuLatency", "yours:gpu", "mpich", "1x2", "latency_1B"),
            [
                '-   "yours:gpu": {mpich: {1x2: {latency_0B: [3.0, null, 0.1, us]}}}',
                '+   "yours:gpu": {mpich: {1x2: {latency_0B: [3.0, null, 0.1, us], '
                "latency_1B: [1.25, null, 0.05, us]}}}",
            ],
        ),
        (
            ("Streaming", "yours:gpu", "mpich", "1x2", "t"),
            [
                "+ Streaming:",
                "+   $index: [$partition, $environ, layout]",
                "+   yours:gpu:",
                "+     mpich:",
                "+       1x2:",
                "+         t: [1.25, null, 0.05, us]  # from 7 runs 2026-11-01",
            ],
        ),
    ],
)
def test_only_what_is_asked_for_changes(keys, expected):
    after = edited(FILE, [change(*keys)])
    assert sorted(line for line in differences(FILE, after) if line.strip("+- ")) == sorted(expected)
    level = yaml.safe_load(after)
    for key in keys:
        level = level[key]
    assert level == list(REFERENCE)


def test_the_comment_of_an_earlier_proposal_is_replaced():
    first = edited(FILE, [change(*HERE, "latency_0B"), change(*HERE, "latency_8B")])
    again = "from 9 passes in 1 run 2026-12-01"
    second = edited(first, [change(*HERE, each, comment=again) for each in ("latency_0B", "latency_8B")])
    assert "  # accepted in May; from 9 passes in 1 run 2026-12-01\n" in second
    assert "us]  # from 9 passes in 1 run 2026-12-01\n" in second
    assert "from 7" not in second


def test_odd_spaces_and_breaks_leave_and_all_values_and_comments_stay():
    odd = FILE.replace("[$partition, ", "[$partition,   ").replace("[1.5, null, 0.10", "[1.5, null,\n           0.10")
    after, of_even = (edited(text, [change(*HERE, "latency_1B")]) for text in (odd, FILE))
    assert re.sub(" +#", " #", after) == re.sub(" +#", " #", of_even)


def test_a_new_check_is_the_last_entry_of_a_file():
    before = '# Head\n\n# These.\nno_reference:\n- why: "none"\n# The end.\n'
    assert edited(before, [change("A", "p:q", "e", "1x2", "t")]).startswith(f"{before}A:\n  $index: [")


@pytest.mark.parametrize("before", ["", "# nothing yet\n", "# no line end"])
def test_an_empty_file(before):
    after = edited(before, [change("A", "p:q", "e", "1x2", "t")])
    assert after.startswith(before)
    assert yaml.safe_load(after) == {"A": {"$index": list(INDEX), "p:q": {"e": {"1x2": {"t": list(REFERENCE)}}}}}


def test_what_a_record_says_stays_a_key_and_a_comment():
    odd = ("A", "p: [q]\n# x", "e'\"{", "*1x2", "! t")
    after = edited(FILE, [change(*odd, comment="from 1 runs\nno_reference: []\x1b[2J")])
    assert yaml.safe_load(after)["A"]["p: [q]\n# x"]["e'\"{"]["*1x2"]["! t"] == list(REFERENCE)
    assert "# from 1 runs no_reference: []?[2J\n" in after
    assert '  "on":' in edited(FILE, [change("A", "on", "e", "1x2", "t")])  # true in YAML 1.1, which ReFrame reads


@pytest.mark.parametrize(
    "text",
    [
        "A: &a\n  $index: [layout]\n  1x2: {t: [1, null, 1, us]}\nB: *a\n",
        "x: &x {t: [1, null, 1, us]}\nA:\n  $index: [layout]\n  1x2: *x\nB:\n  $index: [layout]\n  1x2:\n    <<: *x\n",
    ],
)
def test_what_is_shared_is_refused(text):
    with pytest.raises(ReferenceError, match="here: cannot be changed in place.*write those entries out"):
        edited(text, [Setting(("B", "1x2", "t"), ("layout",), (2.0, None, 1.0, "us"), "c")], "here")


keys = st.lists(st.sampled_from(["1x2", "2x1", "latency_0B", "t", "8", "a b", "100 %"]), min_size=4, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["OsuLatency", "B"]), keys), min_size=1, max_size=6, unique_by=str))
def test_any_changes_are_what_a_parser_reads_and_no_other_line_is_touched(wanted):
    changes = {(check, *rest): change(check, *rest) for check, rest in wanted}
    after = edited(FILE, list(changes.values()))
    assert not [line for line in differences(FILE, after) if line.startswith("-")]
    content = yaml.safe_load(after)
    for path in changes:
        level = content
        for key in path:
            level = level[key]
        assert level == list(REFERENCE)


def test_the_result_loads(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(edited(FILE, [change(*HERE, "latency_1B")]))
    assert len(reference_file.load(path).reasons) == 2
