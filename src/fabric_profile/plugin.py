# SPDX-License-Identifier: BSD-3-Clause
"""The verb that profiles add to the command."""

VERBS = {"profile": ("Predict", "fabric_profile.cli", "Run an MPI program, show what it asks of MPI.")}
