# SPDX-License-Identifier: BSD-3-Clause
"""Which Spack, and which package repository, will do."""

import pytest

from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.version import (
    PINNED_PACKAGES,
    PINNED_PACKAGES_COMMIT,
    Checkout,
    parse_version,
    require_packages,
    require_pinned,
    require_version,
)

REAL = "1.1.0 (2e907202bcc8209a6a62243aab50c179b524cc3b)\n"


@pytest.mark.parametrize(
    ("output", "version"),
    [
        (REAL, (1, 1, 0)),
        ("1.1.0\n", (1, 1, 0)),
        ("0.23.1 (2bfcc69fa870d3c6919be87593f22647981b648a)\n", (0, 23, 1)),
        ("1.2.0.dev0 (9cf66332df3dd988248617fc93400045be59ebab)\n", (1, 2, 0)),
        ("1.1\n", (1, 1, 0)),
        ("==> Warning: the configuration has a deprecated key\n" + REAL, (1, 1, 0)),
    ],
)
def test_versions(output, version):
    assert parse_version(output) == version


@pytest.mark.parametrize("output", ["", "\n", "no spack here", "Spack 1.1.0 for gamers", "1", "1.x"])
def test_what_is_no_version(output):
    with pytest.raises(SpackError, match="not a version; is that Spack"):
        parse_version(output)


def test_an_old_one_is_refused():
    assert require_version(REAL) == (1, 1, 0)
    assert require_version("2.0.0") == (2, 0, 0)
    with pytest.raises(SpackError, match=r"^/opt/spack: Spack 1\.0\.2 is too old: 1\.1 or later is needed; name"):
        require_version("1.0.2 (734c5db2121b01c373eed6538e452f18887e9e44)", "/opt/spack")


def test_the_pinned_one():
    require_pinned(REAL, "/spack")
    for output in ("1.1.0\n", REAL.replace("2e9", "000")):
        with pytest.raises(SpackError, match=r"^/spack: commit '.*' instead of 2e907202bcc.*FABRIC_SPACK_URL to a"):
            require_pinned(output, "/spack")


def test_the_package_repository():
    require_packages(Checkout(PINNED_PACKAGES_COMMIT))
    for found, said in (
        (
            Checkout("abc", "v2025.11.0"),
            "'v2025.11.0', commit abc, where release v2026.06.0 .*; check that release out",
        ),
        (
            Checkout("abc", PINNED_PACKAGES),
            "'v2026.06.0', commit abc, where .*; that tag was moved there: delete the clone",
        ),
        (Checkout("abc"), "'no tag', commit abc"),
        (Checkout(""), "not a Git clone, but release v2026.06.0"),
        (
            Checkout(PINNED_PACKAGES_COMMIT, PINNED_PACKAGES, ("a.py", "b.py")),
            "'a.py' and 1 more differs from release",
        ),
    ):
        with pytest.raises(SpackError, match=said):
            require_packages(found)
