# SPDX-License-Identifier: BSD-3-Clause
"""How a class becomes a check, and gets the check that compares its layouts."""

import reframe as rfm
from reframe.core.builtins import parameter
from reframe.core.meta import make_test

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import Layout
from fabric_checks.reframe_ext.internals import parameter_values
from fabric_checks.reframe_ext.mixins import PpnRatioMixin, layouts_of

from .offers import offered


def check(*features, compare=True):
    """Make a class a check if some environment of the current system has all of ``features``.

    Every instance costs milliseconds of each start, and some classes have many; what an environment lacks is printed by
    the summary from its ``extras['without']``.

    :param compare: whether there is a second check, ``<name>PpnRatio``, of one process a node against more. It is left
        out where the current system has no two layouts to compare.
    """

    def register(cls):
        # Where no layout fits, `layouts` has said so; ReFrame would call it an error.
        if offered(*features) and parameter_values(cls)["layout"]:
            rfm.simple_test(cls)
            if compare:
                add_ppn_ratio(cls)
        return cls

    return register


def add_ppn_ratio(cls):
    """Make the comparison of a check, if its layouts on the current system have any to compare."""
    own = [Layout.of(layout) for layout in parameter_values(cls)["layout"]]
    found = {str(layout): str(one) for layout, one in ppn_ratio.counterparts(own, layouts_of("any")).items()}
    if found:
        body = {
            "__doc__": f"{cls.__name__} with one process a node against more, in one allocation.",
            "descr": f"{cls.descr}, by processes a node",
            "layout": parameter(list(found), type=str),
            "counterparts": found,
        }
        name = cls.__name__ + ppn_ratio.SUFFIX
        rfm.simple_test(make_test(name, (PpnRatioMixin, cls), body, module=cls.__module__))
