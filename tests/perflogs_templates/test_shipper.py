# SPDX-License-Identifier: BSD-3-Clause
"""A real log shipper and a real store, where they are installed: every record is read back as it was
written."""

import re
import shutil

import pytest

from tests.builders import record
from tests.guard import wait_for
from tests.perflogs_templates.shipping import (
    BEGIN,
    TEMPLATES,
    Shipper,
    VictoriaMetrics,
    arrive,
    run,
    write,
)


@pytest.fixture
def store(tmp_path):
    """Return a store that is running; its folder is also that of the results."""
    for program, source in (("telegraf", "go install github.com/influxdata/telegraf/cmd/telegraf@v1.37.2"),
                            ("victoria-metrics", "Debian's package of that name")):  # fmt: skip
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here ({source})")
    made = VictoriaMetrics(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def shipper(store):
    """Return a shipper that is running."""
    made = Shipper(store)
    yield made
    made.kill()


def test_every_record_is_read_back_and_a_bad_line_costs_itself_alone(store, shipper):
    path = store.folder / "perflogs/s/p/A.jsonl"
    write(path, run(0))
    with path.open("a") as out:
        out.write('{"format": 1, "unfin\n')
    write(path, run(1))
    arrive(store, run(0) + run(1))
    assert " E! " in shipper.log.read_text()  # the bad line


def test_nothing_is_lost_by_outages_kills_and_rotated_files(store, shipper):
    path = store.folder / "perflogs/s/p/A.jsonl"
    records = [each for number in range(10, 60) for each in run(number, count=10)]
    write(path, records)
    wait_for(store.got, "nothing arrives")
    shipper.kill()
    before = len(store.got())
    assert before < len(store.wanted(records))  # it was in the middle
    shipper.start()
    wait_for(
        lambda: len(store.got()) > before,
        "nothing arrives after the shipper was killed",
    )
    store.stop()
    records += (more := run(1))
    write(path, more)
    wait_for(
        lambda: "Error writing to outputs" in shipper.log.read_text(),
        "the shipper does not see that the store is down",
    )
    shipper.kill()  # with lines that it has read and could not send
    shipper.start()
    store.start()
    arrive(store, records)
    path.rename(path.with_name("A.1.jsonl"))
    records += (more := run(2) + run(3, check="B"))
    write(path, more[:100])
    write(path.with_name("B.jsonl"), more[100:])
    arrive(store, records)


def test_the_queries_of_the_readme_find_what_they_are_for(store, shipper):
    records = run(0)
    records.append(
        record(time=BEGIN.isoformat(), check="OsuLatency", metric="latency_0B")
    )
    records.append(
        record(time=BEGIN.isoformat(), check="Rotate", metric="faults", value=1.0)
    )
    write(store.folder / "perflogs/s/p/A.jsonl", records)
    arrive(store, records)
    queries = re.findall(
        r"    (\w+_over_time\(.*)", (TEMPLATES / "README.md").read_text()
    )
    assert len(queries) > 1
    for query in queries:
        assert 0 < len(store.ask(query)) < 5, query
