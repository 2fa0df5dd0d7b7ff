# SPDX-License-Identifier: BSD-3-Clause
"""Schedulers for ReFrame where its own would not do; each registers itself."""
