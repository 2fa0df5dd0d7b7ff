# SPDX-License-Identifier: BSD-3-Clause
"""The build back end of pyproject.toml, which refuses: a wheel would lack the checks and settings of the
clone."""


def build_wheel(*_, **__):
    raise SystemExit(
        "error: fabric-checks is used from its clone, whose checks, config and docs it reads: `. ci/env.sh`"
        " in the clone makes `fabric-checks` and `reframe -c checks` work; its dependencies are in"
        " pyproject.toml"
    )


build_sdist = build_editable = build_wheel
