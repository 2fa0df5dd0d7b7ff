# SPDX-License-Identifier: BSD-3-Clause
"""LSF's tables are read as meant."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.lsf import output as lsf
from tests.schedulers.stand_ins import Lsf

HOSTS = (
    "HOST_NAME STATUS JL/U MAX NJOBS\nn1 ok - 40 0\nn2 closed_Excl - 40 40\nlogin closed_Adm - 40 0\nmgmt ok"
    " - 1 0\n"
)
MODELS = "HOST_NAME type model cpuf ncpus\nn1 X86_64 EPYC 60.0 64\nn2 X86_64 EPYC 60.0 -\n"
QUEUES = "QUEUE_NAME PRIO STATUS\nnormal 30 Open:Active\nold 1 Closed:Active\n"


def test_hosts_that_take_jobs_are_of_every_queue():
    normal, old = lsf.queues(HOSTS, MODELS, QUEUES)
    assert (normal.name, normal.nodes, normal.cores) == ("normal", 2, 64)
    assert normal.takes_jobs and not old.takes_jobs


@pytest.mark.parametrize(
    ("status", "most", "nodes", "down"),
    [
        ("ok", "-", 2, 0), ("closed_Power", "40", 2, 0), ("closed_Full", "40", 2, 0),
        ("unavail", "40", 1, 1), ("unreach", "-", 1, 1), ("closed_LIM", "40", 1, 1),
        ("closed_Lock", "40", 1, 0),
    ],
)  # fmt: skip
def test_hosts_that_do_not_answer_are_not_offered(status, most, nodes, down):
    hosts = HOSTS.replace("ok - 40", f"{status} - {most}", 1)
    normal, _ = lsf.queues(hosts, MODELS, QUEUES)
    assert (normal.nodes, normal.out_of_service) == (nodes, down)


@pytest.mark.parametrize("number", range(3))
def test_another_text_is_no_table(number):
    texts = [HOSTS, MODELS, QUEUES]
    texts[number] = "LSF is down. Please wait ...\n"
    with pytest.raises(OutputError, match="not a table that begins with"):
        lsf.queues(*texts)


def test_the_script_rounds_minutes_up_and_passes_on_the_options_of_a_job(tmp_path, monkeypatch):
    job = Lsf(tmp_path, monkeypatch).job(
        exclusive_access=True, num_cpus_per_task=3, options=["-q long", "#NOTE x"]
    )
    assert job.scheduler.emit_preamble(job)[3:] == [
        "#BSUB -n 4",
        '#BSUB -R "span[ptile=2]"',
        '#BSUB -R "affinity[core(3)]"',
        "#BSUB -W 2",
        "#BSUB -x",
        "#BSUB -q long",
        "#NOTE x",
    ]
