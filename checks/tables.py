# SPDX-License-Identifier: BSD-3-Clause
"""Tables with a row for each message size, as metrics."""

from dataclasses import dataclass

from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.metrics import Metric, curve, point
from fabric_checks.reframe_ext.mixins import NO_SIZES


@dataclass(frozen=True)
class Curve:
    """One column of a table as metrics: the arguments of :func:`fabric_checks.core.metrics.curve`, and the
    column, which times ``factor`` is the metric in its unit.

    :param mode: the block of the output, where it has several.
    """

    quantity: str
    unit: str
    better: str
    column: str
    factor: float = 1
    one_way: bool = False
    about: str = ""
    mode: str | None = None


#: Columns that several suites have.
MESSAGE_RATE = Curve(
    "message_rate",
    "Mmsg/s",
    "larger",
    "message_rate_per_s",
    1e-6,
    about="Messages a second, summed over the pairs",
)
OVERALL_TIME = Curve(
    "overall_time",
    "us",
    "smaller",
    "overall_us",
    about="Time of the collective with work meanwhile",
)
COMMUNICATION_TIME = Curve(
    "communication_time",
    "us",
    "smaller",
    "communication_us",
    about="Time of the collective alone",
)
OVERLAP = Curve(
    "overlap",
    "%",
    "larger",
    "overlap_percent",
    about="Overlap of the collective with work, as its suite defines it",
)


class Tables(RegressionTestPlugin):
    """Metrics of the columns of a table: ``curves``, at the sizes of ``sizes_B``, or one number of each."""

    curves = ()
    #: Whether the table has a row for each size; otherwise it has one row without a size.
    has_sizes = True

    def sizes_of(self, _column):
        """Return the sizes at which a column is a metric."""
        return self.sizes_B

    def metrics(self):
        if not self.has_sizes:
            return [
                Metric(c.quantity, c.unit, c.better, about=c.about) for c in self.curves
            ]
        return [
            metric
            for c in self.curves
            for metric in curve(
                c.quantity,
                c.unit,
                c.better,
                self.sizes_of(c),
                one_way=c.one_way,
                about=c.about,
            )
        ]

    def values_of(self, rows, mode=None):
        """Return the metrics of the rows of a block."""
        own = [each for each in self.curves if each.mode == mode]
        if not self.has_sizes:
            (row,) = rows
            return {c.quantity: row.values[c.column] * c.factor for c in own}
        at = {row.size_B: row.values for row in rows}
        return {
            point(c.quantity, size): at[size][c.column] * c.factor
            for c in own
            for size in self.sizes_of(c)
        }


class Barrier(RegressionTestPlugin):
    """A barrier: its table has one row, and it has no buffers."""

    needs_of = {}
    validates = False
    settings = NO_SIZES
    sizes_B = [0]
    has_zero = False
    has_sizes = False
