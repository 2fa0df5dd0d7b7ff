# SPDX-License-Identifier: BSD-3-Clause
"""Cross-section and latency map: values from the records, maps from the kept output, and from nowhere
else."""

import pytest

from fabric_checks.core.families import CROSS_SECTION, LATENCY_MAP
from fabric_checks.diagnosis.cross_section import evaluation as cross_section
from fabric_checks.diagnosis.latency_map import evaluation as latency_map
from fabric_checks.report.collection import collect
from fabric_checks.report.sections import pairs
from tests.diagnosis.latency_map.model import latencies, text_of
from tests.report import records
from tests.report.records import record

SESSION = "20261101T120000Z-0001"


def evaluate(text, link_MBps=None):
    return cross_section.of_run(cross_section.read(text), link_MBps)


@pytest.fixture
def golden_run(golden):
    """A saved output of rotate on four ranks, and its evaluation."""
    text = golden("rotate/mpich-5.0.2.txt")
    return text, evaluate(text)


@pytest.fixture
def latency_run():
    text = text_of(latencies([0] * 4 + [1] * 4, pair={(0, 5): 2.0}))
    return text, latency_map.of_run(latency_map.read(text))


def rows_of(found, check="Rotate", **fields):
    hosts, ranks = list(dict.fromkeys(found.output.hosts)), len(found.output.hosts)
    at = {
        "check": check,
        "parameters": {"pattern": "rotate"} if check == "Rotate" else {},
        "layout": f"{len(hosts)}x{ranks // len(hosts)}",
        "nodelist": hosts,
        "findings": [each.as_dict() for each in found.all_findings()],
        "output": f"output/{SESSION}/oak/compute/mpich/{check}_1",
    }
    return [
        record(name, value, **(at | fields)) for name, value in found.metrics().items()
    ]


def keep_output(folder, text, *, kind="output", case="Rotate_1"):
    path = folder / kind / SESSION / "oak" / "compute" / "mpich" / case / "rfm_job.out"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def kept(rows, folder):
    (median,) = collect(records.frame(rows)).of("oak", "median_bandwidth")
    return pairs.kept_output(median, pairs.results_folders([folder]), evaluate)


@pytest.mark.parametrize("kind", ["output", "stage"])
@pytest.mark.parametrize("where", [".", "perflogs", "perflogs/oak/compute"])
def test_the_output_is_found_from_results_and_from_perflogs(
    tmp_path, golden_run, kind, where
):
    text, found = golden_run
    keep_output(tmp_path, text, kind=kind)
    (tmp_path / where).mkdir(parents=True, exist_ok=True)
    assert kept(rows_of(found), tmp_path / where).metrics() == found.metrics()


def test_the_output_of_another_run_is_not_taken(tmp_path, golden_run):
    """Of a case that ran several times in a session, the last output is kept."""
    text, found = golden_run
    keep_output(tmp_path, text)
    assert (
        kept([row | {"value": row["value"] * 1.01} for row in rows_of(found)], tmp_path)
        is None
    )
    assert kept(rows_of(found, output=None), tmp_path) is None


def test_a_broken_output_is_none(tmp_path, golden_run):
    text, found = golden_run
    keep_output(tmp_path, text[: len(text) // 2])
    assert kept(rows_of(found), tmp_path) is None


@pytest.mark.parametrize("name", ["../../../../../secret", "{outside}", "..", "a\0b"])
def test_no_record_leads_out_of_the_folder(tmp_path, golden_run, name):
    """The file is really there, at the other end of the name."""
    text, found = golden_run
    name = name.format(outside=tmp_path / "outside")
    mpich = keep_output(tmp_path / "results", text).parent.parent
    if "\0" not in name:
        target = (mpich.parent / name / "Rotate_1" / "rfm_job.out").resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    assert kept(rows_of(found), tmp_path / "results")
    leads_out = f"output/{SESSION}/oak/compute/{name}/Rotate_1"
    assert kept(rows_of(found, output=leads_out), tmp_path / "results") is None


def test_a_link_is_not_followed(tmp_path, golden_run):
    text, found = golden_run
    path = keep_output(tmp_path, text)
    path.symlink_to(path.rename(tmp_path / "elsewhere.out"))
    assert kept(rows_of(found), tmp_path) is None


def pictures(family, rows, folder):
    return pairs.pictures(
        collect(records.frame(rows)), family, "k", pairs.results_folders([folder])
    )


def test_the_report_has_heat_map_and_histogram(tmp_path, golden_run):
    text, found = golden_run
    keep_output(tmp_path, text)
    (picture,) = pictures(CROSS_SECTION, rows_of(found), tmp_path)
    assert "Heat map" in picture.panels[0] and "link/1" in picture.panels[1]
    assert (
        picture.description.endswith(" MB/s.")
        and picture.notes[-1] == found.limits_text
    )


def test_the_report_has_a_latency_map(tmp_path, latency_run):
    text, found = latency_run
    keep_output(tmp_path, text, case="LatencyMap_1")
    (picture,) = pictures(LATENCY_MAP, rows_of(found, "LatencyMap"), tmp_path)
    (svg,) = picture.panels
    assert "n005" in svg and picture.description.endswith(" us.")


@pytest.mark.parametrize(
    "text", [None, text_of(latencies([0] * 8)), text_of(latencies([0] * 8))[:-30]]
)
def test_a_map_that_is_gone_broken_or_of_another_run_is_not_shown(
    tmp_path, latency_run, golden_run, text
):
    if text:
        keep_output(tmp_path, text, case="LatencyMap_1")
    runs = (
        (LATENCY_MAP, latency_run, "LatencyMap"),
        (CROSS_SECTION, golden_run, "Rotate"),
    )
    for family, (_, found), check in runs:
        (picture,) = pictures(family, rows_of(found, check), tmp_path)
        assert picture.panels == () and "matrix not kept" in picture.absent
    assert (
        pictures(CROSS_SECTION, [record("waves", family=CROSS_SECTION)], tmp_path) == []
    )
