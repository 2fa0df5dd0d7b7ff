# SPDX-License-Identifier: BSD-3-Clause
"""A reader of a run's output may stop, as `head` does; the run goes on with its own exit status."""

import os
import shutil

import pytest

from tests import programs
from tests.conftest import ROOT

#: A stand-in of ReFrame that prints more than a pipe holds, and tells as it does that nobody reads it.
REFRAME = """#!/bin/sh
trap '' PIPE
mkdir -p "$FABRIC_RESULTS/logs"; : > "$FABRIC_RESULTS/logs/$FABRIC_SESSION.log"
i=0
while [ $i -lt 3000 ]; do
    echo "a line of about forty characters, number $i" || { echo "Traceback" >&2; exit 120; }
    i=$((i + 1))
done
: > "$FABRIC_RESULTS/came-to-its-end"
exit $STATUS
"""


@pytest.fixture
def clone(tmp_path):
    """Return a clone that needs no set-up: its ReFrame and its `fabric-checks` are stand-ins."""
    folder = tmp_path / "clone"
    shutil.copytree(ROOT / "ci", folder / "ci")
    bin_ = folder / "bin"
    bin_.mkdir()
    (bin_ / "reframe").write_text(REFRAME)
    (bin_ / "fabric-checks").write_text(
        '#!/bin/sh\n[ "$1" = run ] || { echo s; exit; }\nwhile [ "$1" != -- ]; do shift; done\nshift; exec'
        ' "$@"\n'
    )
    for tool in bin_.iterdir():
        tool.chmod(0o755)
    (folder / "ci/env.sh").write_text(
        f'export FABRIC_HOME="{folder}/home" PATH="{bin_}:$PATH"\n'
    )
    return folder


def call(clone, line, status=0):
    env = {
        "PATH": "/usr/bin:/bin",
        "FABRIC_RESULTS": str(clone / "results"),
        "STATUS": str(status),
    }
    line = f"{line}; exit ${{PIPESTATUS[0]}}"
    done = programs.run(["bash", "-c", line], env=os.environ | env, cwd=clone)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("stderr", ["", "2>&1"])
def test_head_neither_ends_a_run_nor_changes_its_status(clone, status, stderr):
    assert call(clone, f"ci/run {stderr} | head -1", status) == (
        status,
        "a line of about forty characters, number 0\n",
        "",
    )
    assert (clone / "results/came-to-its-end").exists()


def test_head_does_not_end_a_mirror(clone):
    mirror = (
        '#!/bin/sh\nfor i in 1 2 3; do echo "$i $1 $2" || exit 120; sleep 0.1; done\nmkdir -p "$3"; : >'
        ' "$3/whole"\n'
    )
    (clone / "bin/fabric-checks").write_text(mirror)
    (clone / "bin/python").write_text("#!/bin/sh\n")
    (clone / "bin/python").chmod(0o755)
    with (clone / "ci/env.sh").open("a") as file:
        file.write("export FABRIC_PYTHON=python FABRIC_MPI=mpich\n")
    assert call(clone, "ci/mirror m | head -1") == (0, "1 spack mirror\n", "")
    assert (clone / "m/sources/whole").exists()


@pytest.mark.parametrize("command", ["ci/run", "ci/nightly", "ci/mirror m"])
def test_a_closed_standard_output_is_one_line(clone, command):
    status, _, err = call(clone, f"{command} >&-")
    assert status == 2
    assert (
        err
        == "error: standard output is closed; let it lead somewhere, if only to /dev/null\n"
    )
    assert not (clone / "results").exists()
