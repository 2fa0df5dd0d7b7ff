# SPDX-License-Identifier: BSD-3-Clause
"""Questions on the facts of a site that cannot be detected for certain, each with a guess and its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

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
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:&|=-]{0,100}")


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

    value: object
    guess: str = ""


@dataclass
class Answers:
    """The answers by their keys: on the system, and on the nodes of each queue, whose name is empty if it has
    none."""

    system: dict[str, Answer] = field(default_factory=dict)
    queues: dict[str, dict[str, Answer]] = field(default_factory=dict)


def answered(
    facts: Facts, name_is_free: Callable[[str], bool], answer: Callable[[Question], Answer]
) -> Answers:
    """Return the answers to all questions; those on the nodes depend on the answer to that on the queue.

    :param name_is_free: tells whether no system has a name.
    """
    found = Answers({each.key: answer(each) for each in _on_the_system(facts, name_is_free)})
    names = found.system["queue"].value if "queue" in found.system else ("",)
    assert isinstance(names, tuple)
    for name in names:
        of_queue = f" in {name}" if len(names) > 1 else ""
        queue = next((queue for queue in facts.queues if queue.name == name), None)
        asked = found.queues[name] = {}
        for each in _on_a_queue(facts, queue):
            asked[each.key] = answer(replace(each, text=f"{each.text}{of_queue}"))
        if asked.get("link_MBps", Answer(None)).value is not None:
            asked["nics"] = answer(_nics(facts, queue, of_queue))
    return found


def _on_the_system(facts: Facts, name_is_free: Callable[[str], bool]) -> list[Question]:
    name = _name(facts, name_is_free)
    asked = [
        Question(
            "name", "What is the system called", *name, False, lambda text: free_name(text, name_is_free)
        )
    ]
    if facts.scheduler != "local":
        asked.append(_which_queues(facts))
    if facts.mpis:
        families = tuple(mpi.family for mpi in facts.mpis)
        why = "each multiplies the cases; one is enough to begin with" if len(families) > 1 else ""
        text = "Which MPIs should be measured (several with commas, or all)"
        asked.append(
            Question("mpi", text, families[:1], why, len(families) == 1, _some_of(families), families)
        )
    if facts.scheduler not in ("local", "flux"):
        known = facts.scheduler == "slurm" and len(facts.accounts) < 2
        why = "" if known else "jobs go to your default one"
        text = "Which account should jobs name (empty: none)"
        asked.append(Question("account", text, None, why, known, _word_or_none, facts.accounts))
    return asked


def _which_queues(facts: Facts) -> Question:
    names = tuple(queue.name for queue in facts.queues)
    best = max(facts.queues, key=lambda queue: (queue.is_default, queue.nodes))
    why = "jobs that name none go there" if best.is_default else "it has the most nodes"
    text = (
        f"Which {'partitions' if facts.scheduler == 'slurm' else 'queues'} should be measured (several with"
        " commas)"
    )
    is_only = len(names) == 1
    return Question("queue", text, (best.name,), "" if is_only else why, is_only, _some_of(names), names)


def _on_a_queue(facts: Facts, queue: Queue | None) -> list[Question]:
    return [
        *([_nodes(queue)] if queue else []),
        _cores(facts, queue),
        *(_on_slurm(facts, queue) if queue and facts.scheduler == "slurm" else []),
        *([_link(facts)] if facts.scheduler != "local" else []),
    ]


def _nodes(queue: Queue) -> Question:
    few = queue.usable <= SMALL
    why = "" if few else f"{SMALL} of {queue.usable}, so that a night fits a busy machine"
    read = _at_most(queue.usable, f"nodes that {queue.name or 'a job'} can have")
    return Question("nodes", "How many nodes may a job have", min(queue.usable, SMALL), why, few, read)


def _cores(facts: Facts, queue: Queue | None) -> Question:
    text = "How many cores does a node have"
    if queue and queue.cores is not None:
        why = queue.doubt or ("the fewest, as the nodes differ" if queue.differ else "")
        return Question("cores", text, queue.cores, why, not queue.doubt, _count)
    known = facts.scheduler == "local" and facts.cores is not None
    why = "as many as this host has" if facts.cores else "nothing shows it"
    return Question("cores", text, facts.cores or 1, "" if known else why, known, _count)


def _link(facts: Facts) -> Question:
    text = (
        "What is the rate of one link of a node in one direction: 25000 (MB/s) or 200 Gbit/s (empty: unknown)"
    )
    guess, why = None, "no link of this host reports its rate"
    for link in facts.links[:1]:
        guess, why = link.MBps, f"this host's {link.device}, {link.kind}"
    return Question("link_MBps", text, guess, why, False, _rate)


def _nics(facts: Facts, queue: Queue | None, of_queue: str) -> Question:
    text = f"How many such links does a node have{of_queue}"
    if facts.links:
        return Question("nics", text, len(facts.links), "as many as this host has", False, _count)
    # A login node without links tells nothing; nodes with GPUs often have one for each.
    return Question("nics", text, 1, "most have one", not (queue and queue.gpus), _count)


def _on_slurm(facts: Facts, queue: Queue) -> list[Question]:
    """Return the questions on what jobs in a partition have to ask for; those without a choice are
    certain."""
    qos = tuple(name for name in facts.qos if not queue.qos or name in queue.qos)
    only = qos[0] if queue.qos and len(qos) == 1 else None
    why = "the one of yours that it allows" if only else "jobs have your default one"
    kinds = [text.replace(",", "&") for text in queue.features]
    features = tuple(text for text in kinds if len(kinds) > 1 and _WORD.fullmatch(text))
    mixed = "its nodes are of several kinds, which one curve should not mix"
    text = "Which features should nodes have (--constraint; empty: any)"
    return [
        Question(
            "qos", "Which QOS should jobs have (empty: none)", only, why, len(qos) < 2, _word_or_none, qos
        ),
        Question("constraint", text, None, mixed, not features, _word_or_none, features),
        _gres(queue),
    ]


def _gres(queue: Queue) -> Question:
    text = "Which resources should jobs ask for (--gres; empty: none)"
    if found := re.search(r"\bgpu(:[A-Za-z][\w.-]*)?:\d+", queue.gpus):
        why = "all GPUs of a node, as many sites take no job there without"
        return Question("gres", text, found[0], why, False, _word_or_none)
    return Question("gres", text, None, "", True, _word_or_none)


def taken(question: Question, given: str | None) -> Answer:
    """Return the given answer, or the guess.

    :raises FabricError: if the text is not an answer to the question.
    """
    if given is not None:
        return Answer(question.read(given.strip()))
    return Answer(question.guess, question.why)


def _name(facts: Facts, is_free: Callable[[str], bool]) -> tuple[str, str]:
    """Return a guess at the name of a system, and the reason for it."""
    host = re.sub(
        r"[^a-z0-9]", "", re.sub(r"(login|head|front|mgmt)?[0-9-]*$", "", facts.host.split(".")[0].lower())
    )
    domain = facts.host.lower().split(".")[1:2]
    names = [facts.cluster.lower(), *domain, host, "yours"] if facts.scheduler != "local" else [host, "yours"]
    for name in names:
        for each in (name, f"{name}-site"):
            if _NAME.fullmatch(each) and is_free(each):
                whys = {
                    facts.cluster.lower(): "the scheduler's name for it",
                    "yours": "nothing suggests a better one",
                }
                why = whys.get(name, "the name of this host")
                return each, why if each == name else f"{why} is taken"
    return "", ""


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


def _some_of(names: tuple[str, ...]) -> Callable[[str], object]:
    def read(text: str) -> object:
        chosen = names if text == "all" else tuple(dict.fromkeys(filter(None, re.split(r"[,\s]+", text))))
        for name in chosen:
            if name not in names:
                raise FabricError(f"{quoted(name)} is not one of {', '.join(names) or 'them: there is none'}")
        # A queue without a name is the only one.
        if not chosen and names != ("",):
            raise FabricError(f"name one or more of {', '.join(names)}")
        return chosen or names

    return read


def _count(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < 1:
        raise FabricError(f"{quoted(text)} is not a number of 1 or more")
    return int(text)


def _at_most(most: int, what: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        if _count(text) > most:
            raise FabricError(f"{text} is more than the {most} {what}")
        return int(text)

    return read


def _word_or_none(text: str) -> object:
    if text and not re.fullmatch(_WORD, text):
        raise FabricError(
            f"{quoted(text)} is not a word for a job script: use letters, digits and . _ - : & | ="
        )
    return text or None


def _rate(text: str) -> object:
    """Read a rate in MB/s, or in Gbit/s if it says so; a small number without a unit is rather meant in
    Gbit/s."""
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,7}(?:\.\d+)?) ?(MB/s|G(?:b|bit)?(?:/s)?)?", text, re.IGNORECASE)
    rate, unit = (float(match[1]), match[2] or "") if match else (0.0, "")
    if not rate or (not unit and rate < _LEAST_MBps):
        raise FabricError(f"{quoted(text)} is not the rate of a link; write 25000 (MB/s) or 200 Gbit/s")
    return rate * 125 if unit[:1] in ("G", "g") else rate
