# SPDX-License-Identifier: BSD-3-Clause
"""How long a job worked: its script notes the uptime twice, run by a shell."""

import shutil
import time

from fabric_checks.reframe_ext.mixins.record import (
    AFTER,
    BEFORE,
    SCRIPT_LINES,
    RecordMixin,
)
from tests import programs
from tests.reframe_ext.test_record import case


def run(folder, *lines, **options):
    script = folder / "job.sh"
    script.write_text("#!/bin/bash\n" + "\n".join([*SCRIPT_LINES, *lines]) + "\n")
    return programs.run([shutil.which("bash"), script], cwd=folder, **options)


def took_s(folder):
    return RecordMixin.elapsed_s(case(stage=folder))


def test_a_job_script_notes_how_long_it_took(tmp_path):
    begin = time.monotonic()
    assert run(tmp_path, "cd /", "sleep 0.3", "exit 7").returncode == 7
    assert 0.25 < took_s(tmp_path) < time.monotonic() - begin + 0.05


def test_a_failed_launch_ends_the_job_with_its_status_and_is_noted(tmp_path):
    done = run(tmp_path, "(exit 3) || exit $?", "echo not reached")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == ""
    assert took_s(tmp_path) is not None


def test_a_node_without_any_tool_fails_no_job(tmp_path):
    done = run(tmp_path, 'echo "done"', env={"PATH": "/nonexistent"} | {"HOME": "/"})
    assert done.returncode == 0 and done.stderr == ""
    assert took_s(tmp_path) is None


def test_a_folder_that_takes_no_file_fails_no_job(tmp_path):
    for name in (BEFORE, AFTER):
        (tmp_path / name).mkdir()
    done = run(tmp_path, "echo done", "exit 4")
    assert done.returncode == 4
    assert done.stdout == "done\n"
    assert done.stderr == ""
