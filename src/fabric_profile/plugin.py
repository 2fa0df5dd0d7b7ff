# SPDX-License-Identifier: BSD-3-Clause
"""Add the verb of profiles."""

VERBS = {
    "profile": (
        "Predict",
        "fabric_profile.cli",
        "Run an MPI program, show what it asks of MPI.",
    )
}
