# SPDX-License-Identifier: BSD-3-Clause
"""Questions on the facts of a site that cannot be detected for certain, each with a guess and its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import sound_name
from fabric_checks.onboarding.facts import Facts

#: A cluster of so many nodes is measured as a whole by default.
SMALL = 16
#: Names that ReFrame takes for a system.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")


@dataclass(frozen=True)
class Question:
    """A question.

    :param key: its name, also of its option; :param text: the question.
    :param guess: the value unless another is given; None if there is no guess and it may be left open.
    :param why: the reason for the guess.
    :param certain: whether it is not asked; the guess is then a fact if ``why`` is empty.
    :param read: parses an answer, and raises ``FabricError`` for a wrong one; :param choices: the answers, if few.
    """

    key: str
    text: str
    guess: object
    why: str
    certain: bool
    read: Callable[[str], object]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A value; :param guess: the reason for it if it is a guess, empty if it was given or is known."""

    value: object
    guess: str = ""


def answered(
    facts: Facts, name_is_free: Callable[[str], bool], answer: Callable[[Question], Answer]
) -> dict[str, Answer]:
    """Return the answers to all questions by key; those on the nodes depend on the answer to that on the queue.

    :param name_is_free: tells whether no system has a name.
    """
    answers = {each.key: answer(each) for each in _on_the_system(facts, name_is_free)}
    queue = answers["queue"].value if "queue" in answers else None
    return answers | {each.key: answer(each) for each in _on_a_queue(facts, queue)}


def _on_the_system(facts: Facts, name_is_free: Callable[[str], bool]) -> list[Question]:
    name = _name(facts, name_is_free)
    asked = [Question("name", "What is the system called", *name, False, lambda text: free_name(text, name_is_free))]
    if facts.scheduler != "local":
        names = tuple(queue.name for queue in facts.queues)
        best = max(facts.queues, key=lambda queue: (queue.is_default, queue.nodes), default=None)
        guess = best.name if best else ""
        why = "jobs that name none go there" if best and best.is_default else "it has the most nodes"
        why = why if len(names) > 1 else ""
        what = "partition" if facts.scheduler == "slurm" else "queue"
        asked.append(
            Question("queue", f"Which {what} should be measured", guess, why, len(names) == 1, _one_of(names), names)
        )
    return asked


def _on_a_queue(facts: Facts, queue_name: object) -> list[Question]:
    queue = next((queue for queue in facts.queues if queue.name == queue_name), None)
    asked = []
    if queue is not None:
        few = queue.usable <= SMALL
        why = "" if few else f"{SMALL} of {queue.usable}, so that a night fits a busy machine"
        asked.append(Question("nodes", "How many nodes may a job have", min(queue.usable, SMALL), why, few, _count))
    cores, why, known = facts.cores or 1, "", facts.scheduler == "local" and facts.cores is not None
    if queue is not None and queue.cores is not None:
        cores, why, known = queue.cores, "the fewest, as the nodes differ" if queue.differ else "", True
    elif not known:
        why = "as many as this host has" if facts.cores else "nothing shows it"
    asked.append(Question("cores", "How many cores does a node have", cores, why, known, _count))
    if facts.scheduler not in ("local", "flux"):
        known = facts.scheduler == "slurm" and len(facts.accounts) < 2
        why = "" if known else "jobs go to your default one"
        text = "Which account should jobs name (empty: none)"
        asked.append(Question("account", text, None, why, known, _name_or_none, facts.accounts))
    return [*asked, *([] if facts.scheduler == "local" else _link(facts))]


def _link(facts: Facts) -> list[Question]:
    guess, why, nics, why_nics = None, "no link of this host reports its rate", 1, "most have one"
    if facts.links:
        link = facts.links[0]
        guess, why = link.MBps / 125, f"this host's {link.device}, {link.kind}"
        nics, why_nics = len(facts.links), "as many as this host has"
    rate = "What is the rate of one link of a node, in Gbit/s (empty: unknown)"
    return [
        Question("link_gbits", rate, guess, why, False, _rate_or_none),
        Question("nics", "How many such links does a node have", nics, why_nics, True, _count),
    ]


def taken(question: Question, given: str | None) -> Answer:
    """Return the given answer, or the guess.

    :raises FabricError: if the text is not an answer to the question.
    """
    if given is not None:
        return Answer(question.read(given.strip()))
    return Answer(question.guess, question.why)


def _name(facts: Facts, is_free: Callable[[str], bool]) -> tuple[str, str]:
    """Return a guess at the name of a system, and the reason for it."""
    host = re.sub(r"[^a-z0-9]", "", re.sub(r"(login|head|front|mgmt)?[0-9-]*$", "", facts.host.split(".")[0].lower()))
    domain = facts.host.lower().split(".")[1:2]
    names = [facts.cluster.lower(), *domain, host, "yours"] if facts.scheduler != "local" else [host, "yours"]
    for name in names:
        for each in (name, f"{name}-site"):
            if _NAME.fullmatch(each) and is_free(each):
                whys = {facts.cluster.lower(): "the scheduler's name for it", "yours": "nothing suggests a better one"}
                return each, whys.get(name, "the name of this host")
    return "", ""


def free_name(text: str, is_free: Callable[[str], bool]) -> str:
    """Return a name for a new system.

    :raises FabricError: if it is not a name, or taken.
    """
    if not _NAME.fullmatch(text):
        raise FabricError(
            f"{quoted(text)} is not a name for a system: use letters, digits, _ and -, beginning with a letter"
        )
    if not is_free(text):
        raise FabricError(f"there is already a system {text!r} in config, which is left unchanged; choose another name")
    return text


def _one_of(names: tuple[str, ...]) -> Callable[[str], object]:
    def read(text: str) -> object:
        if text not in names:
            raise FabricError(f"{quoted(text)} is not one of {', '.join(names) or 'them: no queue was found'}")
        return text

    return read


def _count(text: str) -> object:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < 1:
        raise FabricError(f"{quoted(text)} is not a number of 1 or more")
    return int(text)


def _name_or_none(text: str) -> object:
    return sound_name("the account", text) if text else None


def _rate_or_none(text: str) -> object:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,5}(?:\.\d+)?)(?: ?(?:G|Gbit|gbit|Gb)(?:/s)?)?", text)
    if match is None or float(match[1]) == 0:
        raise FabricError(f"{quoted(text)} is not a rate in Gbit/s; write 200 for 200 Gbit/s, 0.1 for 100 Mbit/s")
    return float(match[1])
