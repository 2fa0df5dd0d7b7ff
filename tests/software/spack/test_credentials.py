# SPDX-License-Identifier: BSD-3-Clause
"""Credentials in addresses: taken out of every text, and given to Git by the way."""

import os
import subprocess

import pytest

from fabric_checks.software.spack.credentials import for_git, redacted, without_user


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("from https://t0ken@host/x.git: no", "from https://***@host/x.git: no"),
        ("'https://me:p@ss@host:8443/x'", "'https://***@host:8443/x'"),
        ("git+https://t0ken@host/x", "git+https://***@host/x"),
        ("https://host/x?private_token=t0ken&ref=1", "https://host/x?private_token=***&ref=1"),
        ("ssh://git@host/x git@host:x https://host/a@b file:///a@b", None),
        ("https://a/x and https://u@b/y", "https://a/x and https://***@b/y"),
    ],
)
def test_texts(text, shown):
    assert redacted(text) == (shown or text)


def test_git_finds_the_user_of_an_address_again():
    settings = for_git({"GIT_CONFIG_COUNT": "1", "URL": "https://me:t0ken@host/x.git"}, "URL")
    environment = os.environ | {"GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "1"} | settings
    done = subprocess.run(
        ["git", "ls-remote", "--get-url", without_user("https://me:t0ken@host/x.git")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "https://me:t0ken@host/x.git"
    assert for_git({"URL": "https://host/x.git"}, "URL") == {} == for_git({}, "URL")
