# SPDX-License-Identifier: BSD-3-Clause
"""Metrics, declared once: name, unit and which direction is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Better = Literal["smaller", "larger"]
Point = Literal["value", "first", "last", "peak", "ends"]
Layouts = Literal["smallest", "largest", "most nodes"]

#: The units of the collection. MB/s is 10^6 bytes a second, Mmsg/s is 10^6 messages a second.
Unit = Literal["us", "s", "MB/s", "Mmsg/s", "B", "%", "1", "1/s", "Matom-step/s"]
UNITS: tuple[str, ...] = get_args(Unit)


def _require(where: str, what: str, word: str, words: Any) -> None:
    """Raise :class:`ValueError`, which lists the words there are, for another one."""
    if word not in get_args(words):
        known = ", ".join(get_args(words))
        raise ValueError(f"{where}: unknown {what} {word!r}; use one of {known}")


@dataclass(frozen=True)
class Headline:
    """Place a value among the headlines: on the screen, and at the top of a report.

    Checks declare them as ``headlines``; the record of each metric whose quantity and parameters fit carries
    it.

    :param title: the row, such as ``latency, smallest size``; programs that measure the same share one title.
    :param quantity: the curve, or the metric, that the value is of.
    :param section: the heading above the row; ``PAIR`` is ``Within a node`` or ``Between nodes``, by the
        layout.
    :param order: sorts sections, and the rows of one, the smallest first.
    :param rank: which program is preferred where several have the row, the smallest first.
    :param point: of a curve: ``value`` (it is no curve), ``first``, ``last``, ``peak``, or ``ends`` (8 B and
        1 MiB).
    :param layouts: which layout is preferred: the ``smallest``, the ``largest``, or ``most nodes``.
    :param least_tasks: layouts of fewer processes have no such value.
    :param parameters: the required parameters of the test, by name.
    """

    title: str
    quantity: str
    section: str
    order: int
    rank: int = 0
    point: Point = "value"
    layouts: Layouts = "largest"
    least_tasks: int = 1
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the words: a wrong one would show another value in silence."""
        _require(f"headline {self.title}", "point", self.point, Point)
        _require(f"headline {self.title}", "layouts", self.layouts, Layouts)

    def fits(self, quantity: str, parameters: Mapping[str, object]) -> bool:
        """Return whether it is about a quantity of a test with these parameters."""
        if quantity != self.quantity:
            return False
        own = {name: str(value) for name, value in parameters.items()}
        return self.parameters.items() <= own.items()


#: The section of a :class:`Headline` that is about two processes: within a node or between nodes, by the
#: layout.
PAIR = "pair"


@dataclass(frozen=True)
class Metric:
    """Declare a metric of a check.

    :param name: unique within the check; a point of a curve carries its message size, as in ``latency_8B``.
    :param unit: one of :data:`UNITS`.
    :param better: whether a smaller or a larger value is better.
    :param quantity: the name of the curve the metric is a point of, or its own name.
    :param size_B: the message size in bytes for a point of a curve.
    :param can_be_zero: whether 0 or less is a sound value; then two are compared by their difference, not
        their ratio. So is every share in per cent.
    :param one_way: whether a rate counts the bytes of one direction only, so that a link's rate bounds it.
    :param about: one sentence: what it is. Records, the report and ``docs/metrics.md`` have it.
    """

    name: str
    unit: str
    better: Better
    quantity: str = ""
    size_B: int | None = None
    can_be_zero: bool = False
    one_way: bool = False
    about: str = ""

    def __post_init__(self) -> None:
        """Check unit and direction, let the quantity default to the name, and know of shares that they can be
        zero."""
        if self.unit == "%":
            object.__setattr__(self, "can_be_zero", True)
        _require(f"metric {self.name}", "unit", self.unit, Unit)
        _require(f"metric {self.name}", "better", self.better, Better)
        if not self.quantity:
            object.__setattr__(self, "quantity", self.name)


def curve(
    quantity: str, unit: str, better: Better, sizes_B: Iterable[int], **more: Any
) -> list[Metric]:
    """Declare one metric for each message size of a curve: ``latency_0B``, ``latency_1B``, ...

    :param more: ``can_be_zero``, ``one_way`` and ``about`` of each; see :class:`Metric`.
    """
    return [
        Metric(point(quantity, size_B), unit, better, quantity, size_B, **more)
        for size_B in sizes_B
    ]


def point(quantity: str, size_B: int) -> str:
    """Return the name of the metric that is a point of a curve, as in ``latency_8B``."""
    return f"{quantity}_{size_B}B"


def points(quantity: str, by_size: Mapping[int, float]) -> dict[str, float]:
    """Return the values of a curve by metric, given them by message size in bytes."""
    return {point(quantity, size_B): value for size_B, value in by_size.items()}


def half_octaves(first_B: int, last_B: int) -> list[int]:
    """Return the powers of two from ``first_B`` to ``last_B`` and the sizes half-way between; 0 comes before
    1.

    >>> half_octaves(0, 12)
    [0, 1, 2, 3, 4, 6, 8, 12]
    """
    powers = powers_of_two(first_B, last_B)
    between = [size // 2 * 3 for size in powers if size >= 2]
    return sorted({*powers, *(size for size in between if size <= last_B)})


def powers_of_two(first_B: int, last_B: int) -> list[int]:
    """Return the message sizes from ``first_B`` to ``last_B`` in factors of two; 0 comes before 1.

    >>> powers_of_two(0, 8)
    [0, 1, 2, 4, 8]
    """
    sizes = [0] if first_B == 0 else []
    size = max(first_B, 1)
    while size <= last_B:
        sizes.append(size)
        size *= 2
    return sizes
