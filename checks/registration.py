# SPDX-License-Identifier: BSD-3-Clause
"""Registration of classes as checks of the current system, with their variants."""

import reframe as rfm
from reframe.core.builtins import parameter
from reframe.core.meta import make_test

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import Layout
from fabric_checks.reframe_ext.internals import parameter_values
from fabric_checks.reframe_ext.mixins import PpnRatioMixin, layouts_of, offered
from fabric_checks.reframe_ext.mixins.layout import why_left_out
from fabric_checks.reframe_ext.mixins.references import ON_DEVICE

from .devices import kinds_here


def check(*, compare=True):
    """Make a class a check, if some environment of the current system has the features that it needs.

    Every instance costs milliseconds of each start, and some classes have many: values of parameters that
    need a feature which no environment has are left out too. The summary lists them from
    ``extras['without']``.

    :param compare: whether there is a second check, ``<name>PpnRatio``, of one process a node against more.
        It is left out where the current system has no two layouts to compare.
    """

    def register(cls):
        if cls.only_on and not set(cls.only_on) & set(kinds_here()):
            return cls
        # Where no layout fits, `layouts` has warned; ReFrame would call it an error.
        if why_left_out(cls):
            return cls
        for each in map(offered_part, (cls, *on_device(cls))):
            register_test(each)
            if compare:
                add_ppn_ratio(each)
        return cls

    return register


def register_test(cls):
    """Register a class with ReFrame, which sets what ``-S`` names when all are loaded."""
    cls.note_defaults()
    rfm.simple_test(cls)


def offered_part(cls):
    """Return a class with those values of its parameters that some environment offers; itself, if it offers
    all."""
    body = {}
    for name, by_value in cls.needs_of.items():
        values = parameter_values(cls).get(name, [])
        kept = [
            value
            for value in values
            if offered(*cls.needed(), *by_value.get(str(value), ()))
        ]
        if kept != values:
            body[name] = parameter(kept, type=type(values[0]))
    if not body:
        return cls
    return variant_of(cls, cls.__name__, {"__doc__": cls.__doc__, **body})


def variant_of(cls, name, body, *mixins):
    """Return a class of this name that is derived from a check, in the module of that."""
    return make_test(name, (*mixins, cls), body, module=cls.__module__)


def on_device(cls):
    """Return the variant of a check with buffers in device memory, if a partition and an environment have
    it."""
    needs = cls.needs_of.get("device", {})
    values = parameter_values(cls)
    needs = {} if "device" in values else cls.needs_of.get("device", {})
    found = [
        kind
        for kind in kinds_here()
        if kind in needs and offered(*cls.needed(), *needs[kind])
    ]
    if not found:
        return []
    body = {
        "__doc__": f"{cls.__name__} with buffers in the memory of a device.",
        "descr": f"{cls.descr}, in device memory",
        "device": parameter(found, type=str),
        "levels": type(cls.levels)(procurement=cls.levels.procurement),
        "headlines": (),
    }
    if getattr(cls, "device_buffers", ""):
        body["settings"] = {"device_buffers": ""}
    return [variant_of(cls, cls.__name__ + ON_DEVICE, body)]


def add_ppn_ratio(cls):
    """Make the comparison of a check, if its layouts on the current system have any to compare."""
    own = [Layout.of(layout) for layout in parameter_values(cls)["layout"]]
    found = {
        str(layout): str(one)
        for layout, one in ppn_ratio.counterparts(own, layouts_of("any")).items()
    }
    if found:
        body = {
            "__doc__": f"{cls.__name__} with one process a node against more, in one allocation.",
            "descr": f"{cls.descr}, by processes a node",
            "layout": parameter(list(found), type=str),
            "counterparts": found,
        }
        name = cls.__name__ + ppn_ratio.SUFFIX
        register_test(variant_of(cls, name, body, PpnRatioMixin))
