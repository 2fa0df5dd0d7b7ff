# SPDX-License-Identifier: BSD-3-Clause
"""Mixins, log handlers, configuration and the selection of cases; ReFrame's private names in ``internals``
only."""
