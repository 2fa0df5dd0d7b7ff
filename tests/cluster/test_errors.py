# SPDX-License-Identifier: BSD-3-Clause
import pytest

from ci.minicluster.errors import telling_line


@pytest.mark.parametrize(
    "log, line",
    [
        (
            "a\nerror: the settings\nfatal: no database\nfatal: exiting\n",
            "fatal: no database",
        ),
        (
            "started\n[ERROR] no space left\n[ERROR] Aborting\nbye\n",
            "[ERROR] no space left",
        ),
        ("started\nended\n\n", "ended"),
        ("", "it wrote nothing to its log"),
        (None, "it wrote no log"),
    ],
)
def test_the_line_that_tells_why(tmp_path, log, line):
    path = tmp_path / "log"
    if log is not None:
        path.write_text(log)
    assert telling_line(path) == line
