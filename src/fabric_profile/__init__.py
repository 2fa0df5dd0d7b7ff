# SPDX-License-Identifier: BSD-3-Clause
"""Profiles and traces of the MPI calls of a program, by our library ``profile.so``, and their evaluation."""
