# SPDX-License-Identifier: BSD-3-Clause
"""What a case says of a program that failed."""

from types import SimpleNamespace

import pytest

from fabric_checks.reframe_ext.mixins import ResultsMixin
from tests.parsers.test_launch_errors import CUT


@pytest.mark.parametrize(
    ("err", "out", "said"),
    [
        (CUT, "a table", ": MPICH could not start, which is not the fault of a node: "),
        ("a\nboom\n----\n", "a table", "; the last line of rfm_job.err is 'boom'"),
        ("", "a table\n", "; the last line of rfm_job.out is 'a table'"),
        (None, None, ""),
    ],
)
def test_the_cause_that_is_known_comes_before_the_last_line(tmp_path, err, out, said):
    for name, text in (("rfm_job.err", err), ("rfm_job.out", out)):
        if text is not None:
            (tmp_path / name).write_text(text)
    check = SimpleNamespace(stagedir=tmp_path, stderr="rfm_job.err", stdout="rfm_job.out")
    check._text_of = lambda name: ResultsMixin._text_of(check, name)
    found = ResultsMixin.last_error_line(check)
    assert found.startswith(said)
    assert said or not found
