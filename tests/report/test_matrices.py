# SPDX-License-Identifier: BSD-3-Clause
"""The pair matrix comes from the output beside the records, and from nowhere else."""

import pytest

from fabric_checks.diagnosis.cross_section import evaluation as cross_section
from fabric_checks.report.html import build
from fabric_checks.report.html.collecting import collect
from fabric_checks.report.html.matrices import matrix_of, roots
from fabric_checks.report.html.provenance import Provenance
from tests.report import records
from tests.report.records import record


@pytest.fixture
def golden_run(golden):
    """A saved output of rotate on four ranks, and what the check makes of it."""
    text = golden("rotate/mpich-5.0.2.txt")
    return text, cross_section.of_text(text)


def rows_of(found, **fields):
    hosts = list(dict.fromkeys(found.output.hosts))
    ranks = len(found.output.hosts)
    at = {
        "check": "Rotate",
        "parameters": {"pattern": "rotate"},
        "layout": f"{len(hosts)}x{ranks // len(hosts)}",
        "unit": "MB/s",
        "better": "larger",
        "nodelist": hosts,
        "findings": found.notes(),
        "output": "output/20261101T120000Z-0001/oak/compute/mpich/Rotate_1",
        "link_MBps": None,
    }
    return [record(name, value, **(at | fields)) for name, value in found.metrics().items()]


def place(folder, text, *, session="20261101T120000Z-0001", kind="output", case="Rotate_1"):
    path = folder / kind / session / "oak" / "compute" / "mpich" / case / "rfm_job.out"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def median(rows):
    return collect(records.frame(rows)).of("oak", "Rotate", "median_bandwidth")[0]


@pytest.mark.parametrize("kind", ["output", "stage"])
@pytest.mark.parametrize("where", [".", "perflogs", "perflogs/oak/compute"])
def test_the_output_is_found_from_results_and_from_perflogs(tmp_path, golden_run, kind, where):
    text, found = golden_run
    place(tmp_path, text, kind=kind)
    (tmp_path / where).mkdir(parents=True, exist_ok=True)
    kept = matrix_of(median(rows_of(found)), roots([tmp_path / where]))
    assert kept.metrics() == found.metrics()


def test_the_output_of_another_run_is_not_taken(tmp_path, golden_run):
    """Of a case that ran several times in a session, the last output is kept."""
    text, found = golden_run
    place(tmp_path, text)
    others = [row | {"value": row["value"] * 1.01} for row in rows_of(found)]
    assert matrix_of(median(others), roots([tmp_path])) is None
    assert matrix_of(median(rows_of(found, output=None)), roots([tmp_path])) is None


def test_a_broken_output_is_none(tmp_path, golden_run):
    text, found = golden_run
    place(tmp_path, text[: len(text) // 2])
    assert matrix_of(median(rows_of(found)), roots([tmp_path])) is None


@pytest.mark.parametrize("name", ["../../../../../secret", "{outside}", "..", "a\0b"])
def test_no_record_leads_out_of_the_folder(tmp_path, golden_run, name):
    """The file is really there, at the other end of the name."""
    text, found = golden_run
    name = name.format(outside=tmp_path / "outside")
    kept = place(tmp_path / "results", text).parent.parent
    if "\0" not in name:
        target = (kept.parent / name / "Rotate_1" / "rfm_job.out").resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    folders = roots([tmp_path / "results"])
    assert matrix_of(median(rows_of(found)), folders)
    leads_out = f"output/20261101T120000Z-0001/oak/compute/{name}/Rotate_1"
    assert matrix_of(median(rows_of(found, output=leads_out)), folders) is None


def test_a_link_is_not_followed(tmp_path, golden_run):
    text, found = golden_run
    path = place(tmp_path, text)
    moved = path.rename(tmp_path / "elsewhere.out")
    path.symlink_to(moved)
    assert matrix_of(median(rows_of(found)), roots([tmp_path])) is None


def blocks(rows, paths):
    shown = build.sections(collect(records.frame(rows)), Provenance(), paths)
    return {block.key: block for section in shown if section.key == "cross-section" for block in section.blocks}


def test_the_report_has_heat_map_histogram_and_findings(tmp_path, golden_run):
    text, found = golden_run
    place(tmp_path, text)
    shown = blocks(rows_of(found), [tmp_path])
    heat_map, histogram = shown["rotate-0-map"], shown["rotate-0-histogram"]
    assert "data:image/png;base64," in heat_map.svgs[0]
    (matrix,) = heat_map.data
    numbers = sorted(float(cell.text) for _, row in matrix.rows for cell in row if not cell.missing)
    assert numbers == pytest.approx(sorted(found.matrix.measured), rel=1e-3)
    (bins,) = histogram.data
    assert sum(int(row[0].text) for _, row in bins.rows) == len(found.matrix.measured)
    assert [note["text"] for note in found.notes()] == list(histogram.notes)


def test_a_matrix_that_is_gone_is_said(tmp_path, golden_run):
    _, found = golden_run
    shown = blocks(rows_of(found), [tmp_path])
    assert not shown["rotate-0-map"].svgs
    assert "matrix not kept" in shown["rotate-0-map"].absent
