# SPDX-License-Identifier: BSD-3-Clause
"""The script steps of the pipelines, taken out of their files as the programs that run them would take
them."""

import re
from configparser import RawConfigParser

import yaml

from tests.conftest import ROOT

PIPELINES = ROOT / "ci/pipelines"
GITLAB = sorted(PIPELINES.glob("*gitlab*.yml"))
GITHUB = sorted(PIPELINES.glob("*github.yml"))
JENKINS = PIPELINES / "Jenkinsfile"
CRONTAB = PIPELINES / "crontab"
SERVICE = PIPELINES / "fabric-checks-nightly.service"
TIMER = PIPELINES / "fabric-checks-nightly.timer"
#: Where the files of cron and systemd have the clone and its home; whoever copies them puts their own.
CLONE, HOME = "/srv/fabric-checks/clone", "/srv/fabric-checks/home"


class Workflow(yaml.SafeLoader):
    """YAML 1.2's booleans, as GitHub reads it: `on` is a word."""


Workflow.yaml_implicit_resolvers = {
    letter: [
        (tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"
    ]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def gitlab(path):
    """Return the scripts of the jobs by name, as the runner joins them: before_script and script are one."""
    whole = yaml.safe_load(path.read_text())
    before = whole.get("default", {}).get("before_script", [])
    return {
        name: "\n".join([*job.get("before_script", before), *job["script"]])
        for name, job in whole.items()
        if isinstance(job, dict) and "script" in job
    }


def github(path):
    """Return the steps that are scripts, as `job / step`."""
    jobs = yaml.load(path.read_text(), Workflow)["jobs"]
    return {
        f"{name} / {step['name']}": step["run"]
        for name, job in jobs.items()
        for step in job["steps"]
        if "run" in step
    }


def jenkins():
    """Return the scripts of the `sh` steps; each is text in single quotes, into which nothing is put."""
    found = re.findall(r"\bsh\s*\(?\s*(?:script:\s*)?(.)(.*?)\1", JENKINS.read_text())
    assert found and all(quote == "'" for quote, _ in found)
    return {f"sh {number}": text for number, (_, text) in enumerate(found, 1)}


def crontab():
    """Return the variables, and the lines as (schedule, command); cron takes `%` for the end of a line."""
    variables, lines = {}, []
    for line in CRONTAB.read_text().splitlines():
        if assigned := re.fullmatch(r"([A-Z_]+)=(.*)", line):
            variables[assigned[1]] = assigned[2].strip('"')
        elif line and line[0] != "#":
            *schedule, command = line.split(None, 5)
            assert "%" not in command
            lines.append((" ".join(schedule), command))
    return variables, lines


class Unit(RawConfigParser):
    """A unit of systemd: keys have case, and may come again."""

    def __init__(self, path):
        super().__init__(
            strict=False, delimiters=("=",), comment_prefixes=("#",), interpolation=None
        )
        self.optionxform = str
        self.read_string(path.read_text())


def scripts():
    """Return all scripts of all files, by file and name."""
    found = {
        (path.name, name): text
        for path in GITLAB
        for name, text in gitlab(path).items()
    }
    found |= {
        (path.name, name): text
        for path in GITHUB
        for name, text in github(path).items()
    }
    found |= {(JENKINS.name, name): text for name, text in jenkins().items()}
    _, lines = crontab()
    found |= {(CRONTAB.name, schedule): command for schedule, command in lines}
    return found | {(SERVICE.name, "ExecStart"): Unit(SERVICE)["Service"]["ExecStart"]}
