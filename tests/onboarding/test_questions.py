# SPDX-License-Identifier: BSD-3-Clause
"""Questions, guesses and wrong answers."""

import re

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding import questions
from fabric_checks.onboarding.looking import look
from tests.onboarding.recorded import HOSTS, site


def asked(facts):
    """Return the questions on a site, if all guesses are taken."""
    found = []

    def answer(question):
        found.append(question)
        return questions.taken(question, None)

    questions.answered(facts, lambda name: name != "taken", answer)
    return found


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        *(("name", text, "is not a name for a system") for text in ("a b", "8wide", "$(x)")),
        *(("name", "taken", "which is left unchanged"), ("queue", "nowhere", "is not one of batch, debug, himem")),
        *(("nodes", text, "is not a number of 1 or more") for text in ("0", "many", "-1")),
        ("account", "a;b", "the account is 'a;b', which is not a name"),
        *(("link_gbits", text, "is not a rate in Gbit/s") for text in ("fast", "0", "1e999")),
    ],
)
def test_a_wrong_answer_is_refused(key, text, why):
    found = look(site("slurm_infiniband"), "login2")
    (question,) = [each for each in asked(found) if each.key == key]
    with pytest.raises(FabricError, match=re.escape(why)):
        questions.taken(question, text)


def test_few_questions_are_asked_and_each_guess_is_an_answer():
    """Of a large cluster six at most, of one machine its name."""
    for name in HOSTS:
        found = look(site(name), HOSTS[name])
        uncertain = [each for each in asked(found) if not each.certain]
        assert uncertain[0].key == "name" and len(uncertain) <= (1 if found.scheduler == "local" else 5)
        for question in uncertain:
            assert question.read("" if question.guess is None else f"{question.guess}") == question.guess
