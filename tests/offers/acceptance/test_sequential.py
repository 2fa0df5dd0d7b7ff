# SPDX-License-Identifier: BSD-3-Clause
"""The sequential test against brute force, textbooks, and machines with noise that it does not assume."""

import math

import numpy as np
import pytest

from fabric_offers.acceptance import sequential
from fabric_offers.acceptance.sequential import (
    MET,
    OPEN,
    VIOLATED,
    Model,
    design,
    fixed_steps,
    follow,
)

VALUE = Model(0.95, 0.90, 0.05, 0.3)
LATENCY = Model(2.0, 2.2, 0.2)
SHARE = Model(0.95, 0.75)


@pytest.mark.parametrize("model", [VALUE, LATENCY, SHARE])
@pytest.mark.parametrize("risks", [(0.05, 0.05), (0.02, 0.1)])
def test_both_risks_are_those_of_the_clause(model, risks):
    plan = design(model, *risks, 150, 3)
    assert 1 - plan.at(model.good).met <= risks[0] + 1e-9
    assert plan.at(model.bad).met <= risks[1] + 1e-9


@pytest.mark.parametrize("model", [VALUE, SHARE])
def test_far_fewer_units_than_a_fixed_test_takes_on_average(model):
    plan = design(model, 0.05, 0.05, 150, 3)
    fixed = fixed_steps(model, 0.05, 0.05) * model.design_effect
    assert max(plan.at(model.good).mean, plan.at(model.bad).mean) <= 0.6 * fixed


def test_a_fixed_test_is_that_of_the_textbook():
    """n = ((z_alpha + z_beta) sigma / delta)^2, and the binomial plan of 95 % against 75 %, by hand."""
    assert fixed_steps(Model(1.0, 0.9, 0.1), 0.05, 0.05) == math.ceil((2 * 1.6449) ** 2)
    n = fixed_steps(SHARE, 0.05, 0.05)

    def at_most(count, failing):
        """Return the probability of at most so many failures, by the binomial formula."""
        return sum(
            math.comb(n, k) * failing**k * (1 - failing) ** (n - k)
            for k in range(count + 1)
        )

    allowed = next(count for count in range(n) if at_most(count, 0.05) >= 0.95)
    assert at_most(allowed, 0.25) <= 0.05


@pytest.mark.parametrize("truth", [0.95, 0.75, 0.85])
def test_the_lattice_agrees_with_machines_drawn_one_by_one(truth):
    draw = np.random.default_rng(7)
    plan = design(SHARE, 0.05, 0.05, 60, 3)
    found = [
        follow(plan, (draw.random(60) < truth).astype(float).tolist())
        for _ in range(4000)
    ]
    expected = plan.at(truth)
    assert np.mean([state.word == MET for state in found]) == pytest.approx(
        expected.met, abs=0.02
    )
    assert np.mean([state.units for state in found]) == pytest.approx(
        expected.mean, rel=0.03
    )


def autoregressive(draw, correlation, count):
    out = [draw.normal()]
    for _ in range(count - 1):
        out.append(
            correlation * out[-1] + math.sqrt(1 - correlation**2) * draw.normal()
        )
    return np.array(out)


@pytest.mark.parametrize("truth, wrong", [(0.95, VIOLATED), (0.90, MET)])
def test_days_that_depend_on_each_other_keep_the_risks(truth, wrong):
    draw, plan = np.random.default_rng(11), design(VALUE, 0.05, 0.05, 60, 3)
    states = [
        follow(plan, (truth + 0.05 * autoregressive(draw, 0.3, 60)).tolist())
        for _ in range(3000)
    ]
    assert np.mean([state.word == wrong for state in states]) <= 0.05 + 3 * math.sqrt(
        0.05 * 0.95 / 3000
    )


def test_one_wild_day_decides_nothing():
    plan = design(VALUE, 0.05, 0.05, 60, 3)
    assert follow(plan, [0.95, 0.95, 1e-6, 0.95]).word == OPEN
    assert follow(plan, [0.95, 0.95, 0.95, 1e6]).word == OPEN


def test_a_missing_unit_is_never_better_than_any_that_could_be_there():
    for model in (VALUE, LATENCY, SHARE):
        values = np.linspace(0, 1, 50) if not model.spread else np.linspace(-5, 5, 500)
        assert all(model.worst <= model.step(value) + 1e-9 for value in values)
        plan = design(model, 0.05, 0.05, 100, 3)
        assert follow(plan, [None] * plan.most_units).word == VIOLATED


def test_it_ends_at_its_last_unit_and_not_before_its_least():
    plan = design(VALUE, 0.05, 0.05, 60, 6)
    assert follow(plan, [2.0] * 5).word == OPEN
    assert follow(plan, [2.0] * 60).units == 6
    assert follow(plan, [VALUE.middle] * 60).units == plan.most_units


def test_the_mean_is_not_below_the_units_before_which_nothing_is_decided():
    plan = design(VALUE, 0.05, 0.05, 150, 9)
    assert plan.at(1.2).mean == pytest.approx(9)
    assert plan.at(VALUE.good).mean > 9


def test_too_few_units_have_no_test_and_the_needed_number_has():
    assert design(VALUE, 0.05, 0.05, 15, 3) is None
    units = sequential.needed(VALUE, 0.05, 0.05, 3)
    assert design(VALUE, 0.05, 0.05, units, 3) and not design(
        VALUE, 0.05, 0.05, units - 1, 3
    )
    assert sequential.needed(Model(1, 0.9999, 0.1), 0.05, 0.05) is None
