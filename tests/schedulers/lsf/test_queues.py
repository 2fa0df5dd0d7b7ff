# SPDX-License-Identifier: BSD-3-Clause
"""What LSF says in its tables."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.lsf import queues as lsf

HOSTS = (
    "HOST_NAME STATUS JL/U MAX NJOBS\nn1 ok - 40 0\nn2 closed_Excl - 40 40\nlogin closed_Adm - 40 0\nmgmt ok - 1 0\n"
)
MODELS = "HOST_NAME type model cpuf ncpus\nn1 X86_64 EPYC 60.0 64\nn2 X86_64 EPYC 60.0 -\n"
QUEUES = "QUEUE_NAME PRIO STATUS\nnormal 30 Open:Active\nold 1 Closed:Active\n"


def test_hosts_that_take_jobs_are_of_every_queue():
    normal, old = lsf.queues(HOSTS, MODELS, QUEUES)
    assert (normal.name, normal.nodes, normal.cores, normal.takes_jobs, old.takes_jobs) == (
        "normal",
        2,
        64,
        True,
        False,
    )


@pytest.mark.parametrize("number", range(3))
def test_what_is_no_table(number):
    texts = [HOSTS, MODELS, QUEUES]
    texts[number] = "LSF is down. Please wait ...\n"
    with pytest.raises(OutputError, match="not a table that begins with"):
        lsf.queues(*texts)
