# SPDX-License-Identifier: BSD-3-Clause
"""No check passes on an output that is broken: every check class, every kind of damage."""

import re

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.fabric_map.model import of_switches
from tests import loading
from tests.breakages import refused
from tests.checks import everything
from tests.checks.outputs import OWN, broken_outputs, comparison, healthy_output

#: All that are not of our own programs; the neighbourhoods need more processes than there are.
CLASSES = """
ImbAtomic ImbBand ImbBarrier ImbCollective ImbNonBlocking ImbNonBlockingBarrier ImbOneSided
ImbOneSidedGroup ImbParallel ImbPassiveTarget ImbPointToPoint LammpsBench LammpsScaled
NpbKernel OsuBandwidth OsuBarrier OsuCollective OsuConcurrentLatency
OsuCongestion OsuHello OsuInit OsuLatency OsuMessageRate OsuMultiLatency OsuNonBlocking OsuNonBlockingBarrier
OsuOneSidedAtomic OsuOneSidedBandwidth OsuOneSidedBothWays OsuOneSidedLatency OsuPersistentBandwidth
OsuPersistentBarrier OsuPersistentLatency
"""


@pytest.fixture(scope="module")
def checks(of_module):
    of_module.setenv("FABRIC_MPI", "mpich")
    # What compares several launches reads each as the check it is made of does: test_comparisons.py
    # breaks those.
    found = [
        c.check
        for c in loading.cases("local")
        if not c.check.is_fixture() and not comparison(c.check)
    ]
    for check in found:
        check.baseline_s = 1.0  # what the case it depends on would have measured
    # The other inputs on one process have no golden output; their form is that of lj.
    found = [
        c
        for c in found
        if type(c).__name__ != "LammpsBench" or c.num_tasks == 2 or c.problem == "lj"
    ]
    # What the wheels do not offer, on two processes of a system that offers everything.
    offered = {
        (type(check).__name__, getattr(check, "benchmark", "")) for check in found
    }
    rich = [
        c.check
        for c in everything.cases(of_module)
        if c.partition.name == "cpu" and not comparison(c.check)
    ]
    for check in rich:
        check.baseline_s = 1.0
    elsewhere = {
        "OsuCongestion": "2x1",
        "LammpsScaled": "2x1",
    }
    rich = [
        check
        for check in rich
        if str(check.current_layout) == elsewhere.get(type(check).__name__, "1x2")
    ]
    return found + [
        c
        for c in rich
        if (type(c).__name__, getattr(c, "benchmark", "")) not in offered
    ]


def test_healthy_outputs_give_every_declared_metric(checks):
    classes = set()
    for check in checks:
        values = check.measure(healthy_output(check))
        assert set(values) == {metric.name for metric in check.metrics()}, (
            check.display_name
        )
        assert all(isinstance(value, float | int) for value in values.values())
        classes.add(type(check).__name__)
    # What runs between GPUs alone is in test_gpus.py.
    assert classes == {*CLASSES.split(), *OWN} - {"RotateOnDevice"}


def test_broken_outputs_are_refused(checks):
    tried = 0
    for check in checks:
        text = healthy_output(check)
        for name, output in broken_outputs(check, text).items():
            assert output != text, name
            with pytest.raises(OutputError) as caught:
                check.measure(output)
                pytest.fail(f"{check.display_name} passed with {name}")
            assert "\n" not in str(caught.value)
            tried += 1
    assert tried > 300


def test_the_output_of_another_program_is_refused(checks):
    texts = {type(check).__name__: healthy_output(check) for check in checks}
    for check in checks:
        own = type(check).__name__
        for kind, text in texts.items():
            if kind != own:
                with pytest.raises(OutputError):
                    check.measure(text)
                    pytest.fail(f"{check.display_name} passed on the output of {kind}")


def test_lammps_with_wrong_physics_is_refused(checks):
    for check in checks:
        if type(check).__name__ == "LammpsBench" and check.problem == "lj":
            # Both energies by as much: the kinetic one still fits the temperature.
            text = (
                healthy_output(check)
                .replace("-5.7585055", "-5.7595055")
                .replace("-4.6223613", "-4.6233613")
            )
            with refused("wrong physics: E_pair"):
                check.measure(text)


def test_what_only_a_run_knows_is_declared_when_it_is_known(checks, monkeypatch):
    """Whether the switches of its nodes are known a job of `Rotate` tells: their medians have a record and a
    reason."""
    check = next(check for check in checks if type(check).__name__ == "Rotate")
    text = healthy_output(check)
    hosts = dict.fromkeys(re.findall(r"^# rank \d+: host (\S+)", text, re.MULTILINE))
    known = of_switches("a test", {"leaf1": list(hosts)})
    monkeypatch.setattr(type(check), "known_fabric", lambda *_: (known, []))
    before = set(check.facts.metrics)
    check.values = check.measure(text)
    check._declare_more()
    more = {"median_within_switches"}
    assert set(check.facts.metrics) - before == more <= check.values.keys()
    assert check.values.keys() == {metric.name for metric in check.metrics()}
    assert check.facts.metrics["median_within_switches"].no_reference
