# SPDX-License-Identifier: BSD-3-Clause
"""Schedulers and launchers for ReFrame where its own would not do; each registers itself."""
