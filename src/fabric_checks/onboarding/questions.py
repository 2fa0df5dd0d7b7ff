# SPDX-License-Identifier: BSD-3-Clause
"""Questions on the facts of a site that cannot be detected for certain, each with a guess and its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.onboarding.facts import Facts
from fabric_checks.schedulers.model import Queue

#: A cluster of so many nodes is measured as a whole by default.
SMALL = 16
#: A smaller rate of a link, which is 8 Gbit/s, needs a unit: it was probably meant in Gbit/s.
_LEAST_MBps = 1000
#: Names that ReFrame takes for a system.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
#: What may stand behind an option of a job script.
_WORD = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:&|=-]{0,100})?")


@dataclass(frozen=True)
class Question:
    """A question.

    :param key: its name, also of its option; :param text: the question.
    :param guess: the value unless another is given; None if there is no guess and it may be left open.
    :param why: the reason for the guess.
    :param certain: whether it is not asked; the guess is then a fact if ``why`` is empty.
    :param read: parses an answer, and raises ``FabricError`` for a wrong one; :param choices: the answers, if
        few.
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

    value: Any
    guess: str = ""


@dataclass
class Answers:
    """The answers by their keys: on the system, and on the nodes of each queue, whose name is empty if it has
    none."""

    system: dict[str, Answer] = field(default_factory=dict)
    queues: dict[str, dict[str, Answer]] = field(default_factory=dict)


def answered(
    facts: Facts,
    name_is_free: Callable[[str], bool],
    answer: Callable[[Question], Answer],
) -> Answers:
    """Return the answers to all questions; those on the nodes depend on the answer to that on the queue.

    :param name_is_free: tells whether no system has a name.
    """
    found = Answers(
        {each.key: answer(each) for each in _on_the_system(facts, name_is_free)}
    )
    queues = {queue.name: queue for queue in facts.queues}
    names = found.system["queue"].value if queues else ("",)
    for name in names:
        suffix = f" in {name}" if len(names) > 1 else ""
        asked = found.queues[name] = {}
        for each in _on_a_queue(facts, queues.get(name)):
            if each.key != "nics" or asked["link_MBps"].value is not None:
                asked[each.key] = answer(replace(each, text=f"{each.text}{suffix}"))
    return found


def _on_the_system(facts: Facts, name_is_free: Callable[[str], bool]) -> list[Question]:
    def free(text: str) -> str:
        return free_name(text, name_is_free)

    guess, why = _name(facts, name_is_free)
    asked = [Question("name", "Name of this system", guess, why, False, free)]
    if facts.queues:
        queues = tuple(queue.name for queue in facts.queues)
        best = max(facts.queues, key=lambda queue: (queue.is_default, queue.nodes))
        default, largest = "jobs that name none go there", "it has the most nodes"
        why = default if best.is_default else largest
        text = "Which partitions or queues should be measured (several with commas)"
        asked.append(_choice("queue", text, queues, best.name, why))
    if facts.queues and facts.scheduler != "flux":
        text = "Which account should jobs name (empty: none)"
        asked.append(Question("account", text, None, "", True, _word_or_none))
    if facts.scheduler == "slurm":
        text = "Do jobs wait long in the queue (yes or no)"
        why = "a night of one allocation waits once; each case is a job otherwise"
        asked.append(Question("one_job", text, "no", why, False, _yes_or_no))
    if facts.mpis:
        families = tuple(mpi.family for mpi in facts.mpis)
        why = "each multiplies the cases; one is enough to begin with"
        text = "Which MPIs should be measured (several with commas, or all)"
        asked.append(_choice("mpi", text, families, families[0], why))
    return asked


def _choice(
    key: str, text: str, names: tuple[str, ...], guess: str, why: str
) -> Question:
    """Return a question for some of several names, which is certain if there is one."""

    def read(text: str) -> object:
        words = names if text == "all" else re.split(r"[,\s]+", text)
        chosen = tuple(dict.fromkeys(filter(None, words)))
        # A queue without a name is the only one.
        if not set(chosen) <= set(names) or not (chosen or names == ("",)):
            raise FabricError(
                f"{quoted(text)} is not one or more of {', '.join(names)}"
            )
        return chosen or names

    is_only = len(names) == 1
    return Question(key, text, (guess,), "" if is_only else why, is_only, read, names)


def _on_a_queue(facts: Facts, queue: Queue | None) -> list[Question]:
    """Return the questions on the nodes of a queue, or on this host alone."""
    if queue is None:
        return [_cores(facts, queue)]
    asked = [_nodes(queue), _cores(facts, queue)]
    if facts.scheduler == "slurm":
        asked.append(_gres(queue))
    return [*asked, _link(facts), _nics(facts, queue)]


def _nodes(queue: Queue) -> Question:
    usable, few = queue.usable, queue.usable <= SMALL

    def read(text: str) -> int:
        if _count(text) > usable:
            what = queue.name or "a job"
            raise FabricError(
                f"{text} is more than the {usable} nodes that {what} can have"
            )
        return int(text)

    text = "How many nodes may a job have"
    why = "" if few else f"{SMALL} of {usable}, so that a night fits a busy machine"
    return Question("nodes", text, min(usable, SMALL), why, few, read)


def _cores(facts: Facts, queue: Queue | None) -> Question:
    guess, certain = facts.cores or 1, False
    why = "as many as this host has" if facts.cores else "nothing shows it"
    if queue is None and facts.cores:
        why, certain = "", True
    elif queue is not None and queue.cores is not None:
        guess, certain = queue.cores, True
        why = "the fewest, as the nodes differ" if queue.differ else ""
    text = "How many cores does a node have"
    return Question("cores", text, guess, why, certain, _count)


def _gres(queue: Queue) -> Question:
    gpus = re.search(r"\bgpu(:[A-Za-z][\w.-]*)?:\d+", queue.gpus)
    guess = gpus[0] if gpus else None
    why = "all GPUs of a node, as many sites take no job there without" if gpus else ""
    text = "Which resources should jobs ask for (--gres; empty: none)"
    return Question("gres", text, guess, why, not guess, _word_or_none)


def _link(facts: Facts) -> Question:
    rate, why = None, "no link of this host reports its rate"
    for link in facts.links[:1]:
        rate, why = link.MBps, f"this host's {link.device}, {link.kind}"
    text = (
        "What is the rate of one link of a node in one direction: 25000 (MB/s) or "
        "200 Gbit/s (empty: unknown)"
    )
    return Question("link_MBps", text, rate, why, False, _rate)


def _nics(facts: Facts, queue: Queue) -> Question:
    # A login node without links tells nothing; nodes with GPUs often have one for each.
    links = len(facts.links)
    why = "as many as this host has" if links else "most have one"
    text, certain = "How many such links does a node have", not (links or queue.gpus)
    return Question("nics", text, links or 1, why, certain, _count)


def taken(question: Question, given: str | None) -> Answer:
    """Return the given answer, or the guess.

    :raises FabricError: if the text is not an answer to the question.
    """
    if given is not None:
        return Answer(question.read(given.strip()))
    return Answer(question.guess, question.why)


def _name(facts: Facts, is_free: Callable[[str], bool]) -> tuple[str, str]:
    """Return a guess at the name of a system, and the reason for it."""
    short, *domain = facts.host.lower().split(".")
    host = re.sub(r"(login|head|front|mgmt)?[0-9-]*$", "", short)
    names = {facts.cluster.lower(): "the scheduler's name for it"}
    names |= dict.fromkeys(
        [*([] if facts.scheduler == "local" else domain[:1]), host],
        "the name of this host",
    )
    names["yours"] = "nothing suggests a better one"
    return next(
        (
            each
            for each in names.items()
            if _NAME.fullmatch(each[0]) and is_free(each[0])
        ),
        ("", ""),
    )


def free_name(text: str, is_free: Callable[[str], bool]) -> str:
    """Return a name for a new system.

    :raises FabricError: if it is not a name, or taken.
    """
    if not _NAME.fullmatch(text):
        raise FabricError(
            f"{quoted(text)} is not a name for a system: use letters, digits, _ and -, beginning with a"
            " letter"
        )
    if not is_free(text):
        raise FabricError(
            f"there is already a system {text!r} in config, which is left unchanged; choose another name"
        )
    return text


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < 1:
        raise FabricError(f"{quoted(text)} is not a number of 1 or more")
    return int(text)


def _yes_or_no(text: str) -> str:
    if text not in ("yes", "no"):
        raise FabricError(f"{quoted(text)} is not yes or no")
    return text


def _word_or_none(text: str) -> object:
    if not _WORD.fullmatch(text):
        raise FabricError(
            f"{quoted(text)} is not a word for a job script: use letters, digits and . _ - : & | ="
        )
    return text or None


def _rate(text: str) -> object:
    """Read a rate in MB/s, or in Gbit/s if it says so; a small number without a unit is rather meant in
    Gbit/s."""
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,7}(?:\.\d+)?) ?(MB/s|Gbit/s)?", text)
    rate, unit = (float(match[1]), match[2]) if match else (0.0, None)
    if not rate or (not unit and rate < _LEAST_MBps):
        raise FabricError(
            f"{quoted(text)} is not the rate of a link; write 25000 (MB/s) or 200 Gbit/s"
        )
    return rate * 125 if unit == "Gbit/s" else rate
