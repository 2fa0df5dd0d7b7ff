# SPDX-License-Identifier: BSD-3-Clause
"""Questions, guesses and wrong answers."""

import re

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding import questions
from fabric_checks.onboarding.detection import look
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
    "key, text, why",
    [
        *(
            ("name", text, "is not a name for a system")
            for text in ("a b", "8wide", "$(x)")
        ),
        ("name", "taken", "which is left unchanged"),
        ("queue", "nowhere", "is not one or more of batch, debug, himem"),
        *(
            ("nodes", text, "is not a number of 1 or more")
            for text in ("0", "many", "-1")
        ),
        ("nodes", "317", "317 is more than the 128 nodes that batch can have"),
        ("queue", ",", "is not one or more of batch"),
        *(
            (key, "a;b", "'a;b' is not a word for a job script")
            for key in ("account", "gres")
        ),
        ("mpi", "mpich", "'mpich' is not one or more of openmpi, intel-oneapi-mpi"),
        *(
            ("link_MBps", text, "is not the rate of a link")
            for text in ("fast", "0", "1e999", "200")
        ),
    ],
)
def test_a_wrong_answer_is_refused(key, text, why):
    found = look(site("slurm_infiniband"), "login2")
    (question,) = [each for each in asked(found) if each.key == key]
    with pytest.raises(FabricError, match=re.escape(why)):
        questions.taken(question, text)


def test_few_questions_are_asked_and_each_guess_is_an_answer():
    """Of a large cluster eight at most, of one machine its name."""
    for name in HOSTS:
        found = look(site(name), HOSTS[name])
        uncertain = [each for each in asked(found) if not each.certain]
        assert uncertain[0].key == "name" and len(uncertain) <= (
            1 if found.scheduler == "local" else 8
        )
        for question in uncertain:
            guess = (
                ",".join(question.guess)
                if isinstance(question.guess, tuple)
                else f"{question.guess or ''}"
            )
            assert question.read(guess) == question.guess


def test_of_many_nodes_a_few_are_proposed_and_it_says_why():
    (nodes,) = [
        each
        for each in asked(look(site("slurm_infiniband"), "login2"))
        if each.key == "nodes"
    ]
    assert nodes.why == f"{nodes.guess} of 128, so that a night fits a busy machine"
    assert not nodes.certain


def test_each_partition_has_its_own_answers():
    """GPUs are asked for where all nodes have them."""
    found = look(site("slurm_gpus"), "dune-login1")
    given = {"queue": "cpu,gpu", "name": "new"}
    answers = questions.answered(
        found, lambda _: True, lambda each: questions.taken(each, given.get(each.key))
    )
    values = {
        name: [of[key].value for key in ("gres", "cores", "nics")]
        for name, of in answers.queues.items()
    }
    assert values == {"cpu": [None, 96, 2], "gpu": ["gpu:a100:4", 48, 2]}
