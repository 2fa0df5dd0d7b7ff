# SPDX-License-Identifier: BSD-3-Clause
"""Archives survive whatever ends their writer."""

import os
import random
import signal
import subprocess
import sys
import time

import polars as pl

from fabric_checks.records import archive_writer
from tests import programs
from tests.builders import load, record, write
from tests.records.test_archive import canonical, exported, files

ENDLESS = """
import sys
from pathlib import Path
from fabric_checks.records import archive_writer
results, folder = map(Path, sys.argv[1:])
print("begin", flush=True)
for n in range(10**6):
    archive_writer.add(results / f"{n % 400}.jsonl", folder)
"""


def test_a_kill_at_any_moment_leaves_an_archive_that_can_be_read(tmp_path):
    """Some seconds: 20 writers are killed, each while it adds file after file; whatever they had added
    stays."""
    results, folder = tmp_path / "results", tmp_path / "archive"
    records = [record(n % 60, metric=f"m{n}") for n in range(400)]
    for n, entry in enumerate(records):
        write(results / f"{n}.jsonl", [entry])
    random.seed(1)
    least = 0
    writer = None
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(results), str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout.readline() == "begin\n"
        time.sleep(random.uniform(0, 0.3))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if files(folder):
            # As docs/buyers.md has it: for Polars, "*" is also what is hidden.
            assert (
                pl.scan_parquet(folder / "*/*/*.parquet", hive_partitioning=True)
                .collect()
                .height
                >= least
            )
            loaded = load(folder)
            assert loaded.faults == () and loaded.frame.height >= least
            least = loaded.frame.height
    assert least > 0
    archive_writer.add(results, folder)
    assert canonical(exported(folder)) == canonical(records)
    assert [path for path in folder.rglob(".records*")] == []


def test_a_full_disk_leaves_the_old_archive(tmp_path):
    path = write(tmp_path / "a.jsonl", [record()])
    archive_writer.add(path, tmp_path / "archive")
    before = files(tmp_path / "archive")
    assert before
    write(
        path, [record(n, metric=f"m{n}", mpi=os.urandom(2000).hex()) for n in range(20)]
    )
    code = (
        "import resource, signal, sys; from pathlib import Path; from fabric_checks.records import"
        " archive_writer;signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000));"
        "archive_writer.add(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    done = programs.run(
        [sys.executable, "-c", code, str(path), str(tmp_path / "archive")]
    )
    assert (
        "records-2.parquet: File too large; the archive is unchanged: fix that and run it again"
        in done.stderr
    )
    assert files(tmp_path / "archive") == before
    assert sorted(path.name for path in (tmp_path / "archive").rglob(".*")) == [".lock"]
