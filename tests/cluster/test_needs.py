# SPDX-License-Identifier: BSD-3-Clause
import errno

import pytest

from ci.minicluster import needs
from ci.minicluster.errors import ClusterError
from tests.cluster.conftest import CI


def test_without_a_database_there_is_another_way(tmp_path):
    for program in (*needs.packages_of("slurm", False), "sacctmgr", "slurmdbd"):
        (tmp_path / program).touch(mode=0o755)
    missing = needs.missing_programs(True, str(tmp_path))
    said = needs.missing_message(missing)
    assert said.startswith(
        "missing programs: mariadbd, mariadb-install-db; install them (Debian: apt install "
    )
    assert said.endswith(
        "mariadb-server); or do without them with --without-accounting"
    )
    assert needs.missing_programs(False, str(tmp_path)) == []


def test_a_scheduler_that_debian_does_not_have(tmp_path):
    assert (
        needs.missing_message(["flux", "tc"], "flux")
        == "missing programs: flux, tc; install them (Debian: apt install iproute2); Debian has no Flux: "
        "build it (docs/schedulers.md), and set FABRIC_FLUX_PREFIX to its folder"
    )
    assert (CI.parent / needs.PAGE).exists()
    assert (
        needs.prefix("flux", {})
        == ""
        == needs.prefix("slurm", {"FABRIC_FLUX_PREFIX": "/nowhere"})
    )
    with pytest.raises(
        ClusterError, match="FABRIC_FLUX_PREFIX is '/nowhere', which has no folder bin"
    ):
        needs.prefix("flux", {"FABRIC_FLUX_PREFIX": "/nowhere"})
    (tmp_path / "bin").mkdir()
    assert needs.prefix("flux", {"FABRIC_FLUX_PREFIX": str(tmp_path)}) == str(tmp_path)


@pytest.mark.parametrize(
    "settings, says",
    [
        (
            {
                "kernel/unprivileged_userns_clone": "0",
                "user/max_user_namespaces": "100",
            },
            "kernel.unprivileged_userns_clone=0; run as root, or set it to 1",
        ),
        (
            {"user/max_user_namespaces": "0"},
            "user.max_user_namespaces=0; run as root, or set it to a number such as 10000",
        ),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            "kernel.apparmor_restrict_unprivileged_userns=1; run as root, or set it to 0",
        ),
    ],
)
def test_a_setting_that_forbids_namespaces_is_named(settings, says):
    assert (
        needs.refusal(True, errno.EPERM, "unshare user", settings)
        == f"user namespaces are switched off: {says}"
    )


def test_other_refusals_say_what_failed():
    said = needs.refusal(
        True, errno.EPERM, "unshare user", {"kernel/unprivileged_userns_clone": "1"}
    )
    assert "unshare user: Operation not permitted" in said and "container" in said
    said = needs.refusal(True, errno.ENOSPC, "unshare user", {})
    assert said.startswith(
        "too many namespaces are in use (unshare user: No space left on device)"
    )
    said = needs.refusal(False, errno.EPERM, "unshare pid", {})
    assert said.startswith(
        "root may not make namespaces here (unshare pid: Operation not permitted)"
    )
    assert "--privileged" in said
