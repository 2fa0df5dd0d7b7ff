# SPDX-License-Identifier: BSD-3-Clause
"""Acknowledgements of findings: why nobody needs to be woken, until when, and what goes beyond that."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from fabric_checks.nightly.model import Finding

#: An acknowledged finding has grown if a sign of it has lost more than this since: a share of what there should be, or
#: of what was lost before where that is larger than 1, as of microseconds.
GROWN = 0.1


@dataclass(frozen=True)
class Acknowledgement:
    """That somebody knows of a finding, and wants no more alarm for it.

    :param finding_id: of an :class:`Open`; :param signs: what it showed then, see :class:`Finding`.
    :param reason: why nobody needs to be woken; :param ticket: where it is being dealt with.
    :param until: the last day on which it holds (UTC); :param by: who said so; :param at: when, ISO 8601.
    :param withdrawn: whether it takes back what was said before.
    """

    finding_id: str
    signs: dict[str, float]
    reason: str
    ticket: str
    until: date
    by: str
    at: str
    withdrawn: bool = False

    def beyond(self, finding: Finding) -> list[str]:
        """Return the signs of a finding that are more than was acknowledged, in words; empty if none is."""
        more = []
        for sign, lost in finding.signs.items():
            known = self.signs.get(sign)
            if known is None:
                more.append(sign)
            elif lost > known + GROWN * max(1.0, known):
                in_us = sign.endswith(", us")
                more.append(f"{sign} {known:.3g} then, {lost:.3g} now" if in_us else
                            f"{sign}, {100 * known:.0f} % lost then, {100 * lost:.0f} % now")  # fmt: skip
        return more if finding.signs else ["nothing that can be compared with what was acknowledged"]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"until": self.until.isoformat()}

    @classmethod
    def of(cls, data: Any) -> Acknowledgement:
        """Read what :meth:`as_dict` gave.

        :raises KeyError, TypeError, ValueError: if it is something else.
        """
        names = ("finding_id", "reason", "ticket", "until", "by", "at")
        if not isinstance(data, dict) or not all(isinstance(data[name], str) for name in names):
            raise TypeError("'acknowledged'")
        signs = data["signs"]
        if not isinstance(signs, dict) or not all(isinstance(lost, int | float) for lost in signs.values()):
            raise TypeError("'signs'")
        texts = {name: data[name] for name in names} | {"until": date.fromisoformat(data["until"])}
        return cls(signs=signs, withdrawn=data.get("withdrawn") is True, **texts)
