# SPDX-License-Identifier: BSD-3-Clause
"""What ReFrame runs of ours: mixins, log handlers, the selection of cases; what it calls private, in one module."""
