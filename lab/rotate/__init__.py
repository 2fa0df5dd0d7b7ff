# SPDX-License-Identifier: BSD-3-Clause
"""The procedure of ``rotate --confirm`` in Python, as all models and the tests have it."""
