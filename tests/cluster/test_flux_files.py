# SPDX-License-Identifier: BSD-3-Clause
from pathlib import Path

import pytest

from ci.minicluster import flux
from ci.minicluster.spec import HEAD
from tests.cluster.test_spec import make


@pytest.mark.parametrize(("nodes", "hosts", "cores", "ids"), [(1, "n1", 1, "0"), (12, "n[1-12]", 4, "0-3")])
def test_the_configuration(nodes, hosts, cores, ids):
    text = flux.config(make(nodes=nodes, cores=cores, scheduler="flux"), Path("/some where"))
    assert 'curve_cert = "/some where/etc/curve.cert"' in text
    assert (
        f'{{host = "{hosts}"}}' in text and f'config = [{{hosts = "head,{hosts}", cores = "{ids}"}}]' in text
    )
    assert 'exclude = "head"' in text


def test_what_the_brokers_must_not_share_has_their_name_in_it():
    of = flux.Flux(make(nodes=2, scheduler="flux"), Path("/f"))
    commands = [of.leader.command, of.node_daemon("n1").command, of.node_daemon("n2").command]
    places = [{word for word in command if "/f/flux/" in word} for command in commands]
    assert all(len(each) == 3 for each in places) and len(set.union(*places)) == 9
    assert of.leader.command[-1] == of.node_daemon(HEAD).command[-1]
