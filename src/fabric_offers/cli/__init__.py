# SPDX-License-Identifier: BSD-3-Clause
"""The verbs about offers, one module each."""
