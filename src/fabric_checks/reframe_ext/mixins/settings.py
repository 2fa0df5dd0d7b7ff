# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a check: ReFrame variables that change what is measured, as by ``-S largest_B=1024``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.metrics import powers_of_two


class SettingsMixin(RegressionTestPlugin):
    """Validate the settings before anything runs, pass them to the program, and keep those that were changed.

    A check lists its variables in ``settings``. What was changed is a parameter of the record and part of the
    name of the test there, so that such values are a series of their own; references are for the defaults.
    """

    #: Options of the program, after those of the check and those in the partition's
    #: ``extras['program_options']``.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    program_options = variable(typ.List[str], value=[])

    #: The settings that a class adds to those of its bases, each with the option that passes a changed value
    #: to the program: empty for those that the check itself passes on, None for those of the bases that it
    #: does not take. When the class is registered, those of all.
    settings: Mapping[str, str | None] = MappingProxyType({"program_options": ""})

    #: The values of the settings without ``-S``; known when the class is registered.
    defaults: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def note_defaults(cls) -> None:
        """Collect the settings of all bases, and keep their values; ReFrame sets those of ``-S`` later."""
        of_bases = [vars(base).get("settings", {}) for base in reversed(cls.__mro__)]
        cls.settings = {
            name: option for settings in of_bases for name, option in settings.items()
        }
        cls.defaults = {
            name: cls.var_space[name].default_value for name in cls.settings
        }

    @classmethod
    def takes(cls, name: str) -> bool:
        """Return whether the check takes a setting."""
        return cls.settings.get(name) is not None

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from the check's own, by name."""
        settings, defaults = self.settings, self.defaults
        taken = {
            name: getattr(self, name)
            for name, option in settings.items()
            if option is not None and name in defaults
        }
        return {name: value for name, value in taken.items() if value != defaults[name]}

    def _is_changed(self, name: str) -> bool:
        return name in self.defaults and getattr(self, name) != self.defaults[name]

    @property
    def changed_text(self) -> str:
        """The changed settings as they are in a command line; empty without any."""
        return " ".join(
            f"-S {name}={_text(value)}" for name, value in self.changed.items()
        )

    @property
    def changed_parameters(self) -> dict[str, Any]:
        """The changed settings as a record has them: strings and numbers."""
        return {
            name: value if isinstance(value, int | float) else _text(value)
            for name, value in self.changed.items()
        }

    @property
    def setting_options(self) -> list[str]:
        """The options that pass the changed settings to the program."""
        given = [(self.settings[name], value) for name, value in self.changed.items()]
        return [
            word for option, value in given if option for word in (option, str(value))
        ]

    def unfit(self) -> Iterator[tuple[str, str]]:
        """Yield each setting whose value the program cannot take, with what to give instead.

        A setting that is a number has to be above zero; ``warmup`` may be zero.
        """
        for name, value in self.changed.items():
            least = 0 if name in ("warmup", "smallest_B") else 1
            if isinstance(value, int) and value < least:
                yield name, f"give {least} or more"
            elif isinstance(value, float) and value <= 0:
                yield name, "give more than 0"

    @run_after("setup")
    def check_settings(self):
        """Refuse a value that the program cannot take; warn of settings that this check does not have.

        :raises ConfigError: with the variable, its value, and what to give instead.
        """
        for name, remedy in self.unfit():
            raise ConfigError(
                f"{type(self).__name__}: {name} is {_text(getattr(self, name))}: {remedy}"
            )
        ignored = [
            name
            for name in self.settings
            if self._is_changed(name) and not self.takes(name)
        ]
        if ignored:
            getlogger().warning(
                f"test {type(self).__name__!r} has no {', '.join(ignored)}: not set",
                cache=True,
            )


def optional(kind: type) -> Any:
    """Return a variable that is None unless ``-S`` gives it a value: the program's own default counts."""
    return variable(kind, type(None), value=None)


#: The settings of :class:`SizesMixin`, and those of a check without message sizes: none of them.
SIZES: Mapping[str, str | None] = MappingProxyType({"smallest_B": "", "largest_B": ""})
NO_SIZES = dict.fromkeys(SIZES)


class SizesMixin(RegressionTestPlugin):
    """Go through message sizes, in factors of two from the smallest to the largest.

    Needs: ``range_B``, the smallest and the largest message without ``-S``, in bytes.
    """

    settings = SIZES

    #: The smallest message, in bytes.
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the check's own
    smallest_B = optional(int)

    #: The largest message, in bytes.
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the check's own
    largest_B = optional(int)

    #: The smallest message that the program can send.
    least_B = 1

    #: Whether the program takes powers of two only.
    powers_only = False

    @property
    def asked_B(self) -> tuple[int, int]:
        """The smallest and the largest message that are asked for."""
        first, last = self.range_B
        if not self.takes("largest_B"):
            return first, last
        return (
            first if self.smallest_B is None else self.smallest_B,
            last if self.largest_B is None else self.largest_B,
        )

    @property
    def sizes_B(self) -> list[int]:
        """The message sizes, in bytes."""
        return self.steps_B(*self.asked_B)

    def steps_B(self, first_B: int, last_B: int) -> list[int]:
        """Return the message sizes of a range."""
        return powers_of_two(first_B, last_B)

    def unfit(self):
        """Yield a size that the program cannot send, or a range without any size, too."""
        yield from super().unfit()
        first, last = self.asked_B
        for name in ("smallest_B", "largest_B"):
            size = getattr(self, name)
            if size is None:
                continue
            if size < self.least_B:
                yield name, f"give {self.least_B} or more"
            elif self.powers_only and size & (size - 1):
                yield name, f"give a power of two, such as {1 << size.bit_length()}"
        if last < first:
            name = "smallest_B" if self.largest_B is None else "largest_B"
            yield (
                name,
                f"messages go from smallest_B={first} to largest_B={last}; set both",
            )


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
