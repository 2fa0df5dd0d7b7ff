# SPDX-License-Identifier: BSD-3-Clause
"""What runs cost, in a file: measured, found again, and never in the way of a run's values."""

import json
import multiprocessing
from dataclasses import asdict

import pytest
from click.testing import CliRunner

from fabric_checks.cli import ending
from fabric_checks.cli.main import cli
from fabric_checks.core.errors import RecordError
from fabric_checks.records.cost import recorded
from fabric_checks.records.cost.estimate import Beside, estimate
from fabric_checks.records.cost.past import Past
from fabric_checks.records.cost.plan import level_of, options_of
from fabric_checks.records.run_records import load_session
from fabric_checks.report.terminal import cost_table
from tests.records.cost.test_estimate import PLAN
from tests.records.samples import failed, record

NAME = record()["session"]
COMMAND = "/x/bin/reframe -c checks --mode nightly -r"


@pytest.fixture
def run(tmp_path):
    """Return a function that writes a run and loads it."""

    def write(*records, jobs=None, command=COMMAND):
        for folder in ("perflogs", "logs", "reports", f"output/{NAME}/s/p/e/A"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "perflogs/A.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
        (tmp_path / f"logs/{NAME}.log").write_text("x" * 1000)
        (tmp_path / f"output/{NAME}/s/p/e/A/rfm_job.out").write_text("y" * 2000)
        case = {"display_name": "A", "system": "s", "partition": "p", "environ": "e", "result": "pass",
                "fail_phase": None, "fail_reason": None, "job_stdout": "rfm_job.out"}  # fmt: skip
        cases = [{**case, "fixture": True}, *({**case, "fixture": False} for _ in range(jobs or 0))]
        info = {"log_files": [f"/x/{NAME}.log"], "cmdline": command}
        report = {"session_info": info, "runs": [{"testcases": cases}]}
        (tmp_path / "reports/run-report-0.json").write_text(json.dumps(report))
        return load_session(tmp_path, NAME)

    return write


def cost_of(elapsed_s=60.0, **fields):
    costs = {"elapsed_s": elapsed_s, "node_traffic_B": 1000, "disk_B": 500}
    return [record(metric=metric, **costs | fields) for metric in ("one", "two")]


def test_a_run_costs_what_its_cases_say_each_of_them_once(run, tmp_path):
    two_nodes = cost_of(120.0, test="B", nodes=2)
    found = recorded.measure(tmp_path, run(*cost_of(), *two_nodes, *cost_of(test="C", jobid="7"), jobs=3), 300)
    assert (found.jobs, found.timed_jobs, found.nodes) == (3, 3, 2)
    assert (found.node_minutes, found.job_minutes, found.wall_minutes) == (1 + 2 * 2 + 1, 4, 5)
    assert (found.node_traffic_B, found.traffic_jobs, found.cases_disk_B) == (3000, 3, 1500)
    assert (found.system, found.level, found.command) == ("s", "nightly", "--mode nightly")


def test_what_is_repeated_counts_each_time(run, tmp_path):
    again = [each | {"time": "2026-02-01T13:00:00+00:00"} for each in cost_of()]
    assert recorded.measure(tmp_path, run(*cost_of(), *again, jobs=2), 300).job_minutes == 2


def test_the_disk_is_what_du_finds(run, tmp_path):
    found = recorded.measure(tmp_path, run(*cost_of(), jobs=1), 60)
    files = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    folders = 5 * (tmp_path / "output" / NAME).stat().st_size
    assert 0.9 * files < found.disk_B - folders < 1.1 * files


def test_a_simulation_is_on_one_host_and_a_comparison_on_the_nodes_of_both(run, tmp_path):
    simulated = cost_of(test="B", nodes=128, evidence="simulated")
    compared = {"metric": "t", "quantity": "t", "unit": "us", "values": {"2x1": 1.0, "1x2": 2.0}}
    found = recorded.measure(tmp_path, run(*simulated, *cost_of(test="C", compared=compared), jobs=2), 60)
    assert (found.node_minutes, found.nodes) == (1 + 2, 2)


def test_what_no_node_told_is_not_in_the_sum(run, tmp_path):
    nothing = failed(test="B", elapsed_s=None, node_traffic_B=None, disk_B=None)
    found = recorded.measure(tmp_path, run(*cost_of(), nothing, jobs=3), None)
    assert (found.jobs, found.timed_jobs, found.traffic_jobs, found.wall_minutes) == (3, 1, 1, None)
    told = cost_table.one_line(asdict(found))
    assert "the time of 2 is unknown" in told and "GB in and out of one node a job: 0.001 (of 1 job)" in told


def test_traffic_that_no_node_told_is_not_none_at_all(run, tmp_path):
    found = recorded.measure(tmp_path, run(*cost_of(node_traffic_B=None), jobs=1), 60)
    assert found.node_traffic_B is None and "GB" not in cost_table.one_line(asdict(found))
    recorded.append(tmp_path, asdict(found), recorded.MEASURED)
    shown = CliRunner().invoke(cli, ["cost", "--results", str(tmp_path)], env={"COLUMNS": "250"}).output
    assert "one node's traffic GB" in shown and shown.rstrip().endswith("unknown")


def test_a_run_of_which_nothing_is_recorded_has_no_cost(run, tmp_path):
    assert recorded.measure(tmp_path, run(jobs=1), 60) is None


def test_what_was_computed_last_for_such_a_run_goes_with_it(run, tmp_path):
    session = run(*cost_of(), jobs=1)
    for beside, plan in ((1.0, PLAN), (2.0, PLAN)):
        recorded.append(tmp_path, estimate(plan, Past(), Beside(beside)).as_line(), recorded.COMPUTED)
    other = estimate(PLAN, Past(), Beside(3.0)).as_line()
    for changes in ({"command": "--mode smoke"}, {"system": "t"}, {"jobs": 2}):
        recorded.append(tmp_path, other | changes, recorded.COMPUTED)
    assert recorded.measure(tmp_path, session, 60).computed["beside"]["seconds"] == 2.0


def test_the_order_of_options_and_the_place_of_results_make_no_other_run(run, tmp_path):
    """As a night gives them, and as the cost is asked for."""
    session = run(*cost_of(), jobs=1, command="/x/reframe -c checks --system s --mode m --report-junit /a/1.xml -r")
    computed = estimate(PLAN, Past(), Beside()).as_line() | {"command": "--mode m --system s"}
    recorded.append(tmp_path, computed, recorded.COMPUTED)
    assert recorded.measure(tmp_path, session, 60).computed["command"] == "--mode m --system s"


def test_lines_that_are_no_cost_are_named_and_passed_over(run, tmp_path):
    measured = asdict(recorded.measure(tmp_path, run(*cost_of(), jobs=1), 60))
    recorded.append(tmp_path, measured, recorded.MEASURED)
    path = tmp_path / recorded.FILE
    good = path.read_text()
    bad = ['{"kind": "meas', "7", '{"kind": "x"}', good.replace('"jobs": 1', '"jobs": "1"').strip(), "\x00"]
    bad.append(good.replace('"computed": null', '"computed": {"kind": 1}').strip())
    bad.append(json.dumps(json.loads(good) | {"disk_B": float("nan")}))
    path.write_text("\n".join([*bad, ""]) + good)
    lines, faults = recorded.read(tmp_path)
    assert len(lines) == 1 and len(faults) == len(bad)
    assert all(fault.startswith(f"{path}:{number}: ") for number, fault in enumerate(faults, 1))
    done = CliRunner().invoke(cli, ["cost", "--results", str(tmp_path)])
    assert done.exit_code == 1 and NAME in done.output and "skipped: fix or delete the line" in done.output


def test_the_list_has_both_and_their_ratio(run, tmp_path):
    session = run(*cost_of(), jobs=1)
    recorded.append(tmp_path, estimate(PLAN, Past(), Beside()).as_line() | {"node_minutes": 0.5}, recorded.COMPUTED)
    recorded.append(tmp_path, asdict(recorded.measure(tmp_path, session, 60)), recorded.MEASURED)
    shown = CliRunner().invoke(cli, ["cost", "--results", str(tmp_path)], env={"COLUMNS": "250"}).output
    assert "1 (computed 0.5: 0.50)" in shown and "nightly" in shown
    as_json = json.loads(CliRunner().invoke(cli, ["cost", "--results", str(tmp_path), "--json"]).output)
    assert [line["kind"] for line in as_json] == ["computed", "measured"]
    ended = CliRunner().invoke(cli, ["show", "--results", str(tmp_path), "--session", NAME]).output
    assert "cost:     1 job, 1 node at most, 1 node-minutes (computed 0.5)" in ended


def test_a_cost_that_cannot_be_noted_hides_no_value(run, tmp_path, capsys):
    run(*cost_of(), jobs=1)
    (tmp_path / recorded.FILE).mkdir()
    ending.end(tmp_path, NAME, 1.0)
    said = capsys.readouterr()
    assert "warning: " in said.err and "is not recorded" in said.err and "1 case passed" in said.out
    with pytest.raises(RecordError, match="the cost of a run is not recorded; make sure that the file can be written"):
        recorded.append(tmp_path, {}, recorded.MEASURED)


def _append(folder, number):
    for at in range(50):
        recorded.append(folder, {"number": number, "at": at, "long": "x" * 5000}, recorded.COMPUTED)


def test_lines_of_several_writers_stay_whole(tmp_path):
    with multiprocessing.Pool(4) as pool:
        pool.starmap(_append, [(tmp_path, number) for number in range(4)])
    lines = [json.loads(line) for line in (tmp_path / recorded.FILE).read_text().splitlines()]
    assert len({(line["number"], line["at"]) for line in lines}) == len(lines) == 200


def test_what_tells_one_run_from_another():
    assert options_of(["reframe", "-c", "checks", "-n", "A B", "-r"]) == "-n 'A B'"
    assert options_of(["/x/reframe", "-c", "checks", "--system=s", "-r"]) == "--system=s"
    assert options_of(["reframe", "-c", "checks", "--report-junit", "/a/b.xml", "--mode", "m"]) == "--mode m"
    assert options_of(["reframe", "--report-junit=/a/b.xml", "-r"]) == ""
    assert level_of("") is None  # the whole collection: no option at all
    assert level_of("--system s --mode nightly") == level_of("--mode=nightly -n x") == "nightly"
    assert level_of("-n mode") is None
