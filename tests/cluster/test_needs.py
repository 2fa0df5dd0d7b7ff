# SPDX-License-Identifier: BSD-3-Clause
import errno

import pytest

from ci.minicluster import needs
from tests.cluster.conftest import CI


def test_all_missing_programs_are_named_at_once_with_their_packages(tmp_path):
    for program in ("srun", "sinfo", "sacctmgr", "ip", "tc"):
        (tmp_path / program).touch(mode=0o755)
    missing = needs.missing_programs(True, str(tmp_path))
    assert needs.missing_message(missing) == (
        "missing programs: slurmctld, slurmd, munged, slurmdbd, mariadbd, mariadb-install-db; "
        "install them (Debian: apt install slurm-wlm munge slurmdbd mariadb-server)"
    )


def test_without_a_database_there_is_another_way(tmp_path):
    for program in (*needs.PROGRAMS, "sacctmgr", "slurmdbd"):
        (tmp_path / program).touch(mode=0o755)
    missing = needs.missing_programs(True, str(tmp_path))
    assert missing == ["mariadbd", "mariadb-install-db"]
    assert needs.missing_message(missing).endswith("mariadb-server); or do without them by --without-accounting")
    assert needs.missing_programs(False, str(tmp_path)) == []


def test_the_packages_are_among_those_that_the_tests_install():
    lines = (CI / "requirements" / "debian.txt").read_text().splitlines()
    assert set((needs.PROGRAMS | needs.FOR_ACCOUNTING).values()) <= set(lines)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"kernel/unprivileged_userns_clone": "0", "user/max_user_namespaces": "100"},
            "user namespaces are switched off: kernel.unprivileged_userns_clone=0; run as root, or set it to 1",
        ),
        (
            {"user/max_user_namespaces": "0"},
            "user namespaces are switched off: user.max_user_namespaces=0; run as root, or set it to a number such as "
            "10000",
        ),
        (
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            "user namespaces are switched off: kernel.apparmor_restrict_unprivileged_userns=1; run as root, or set it "
            "to 0",
        ),
    ],
)
def test_a_setting_that_forbids_namespaces_is_named(settings, says):
    assert needs.refusal(True, errno.EPERM, "unshare user", settings) == says


def test_other_refusals_say_what_failed():
    said = needs.refusal(True, errno.EPERM, "unshare user", {"kernel/unprivileged_userns_clone": "1"})
    assert "unshare user: Operation not permitted" in said and "container" in said
    said = needs.refusal(True, errno.ENOSPC, "unshare user", {})
    assert said.startswith("too many namespaces are in use (unshare user: No space left on device)")
    said = needs.refusal(False, errno.EPERM, "unshare pid", {})
    assert said.startswith("root may not make namespaces here (unshare pid: Operation not permitted)")
    assert "--privileged" in said
