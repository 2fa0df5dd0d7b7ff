# SPDX-License-Identifier: BSD-3-Clause
"""Real OpenSM and the tools of InfiniBand on a fabric that ibsim simulates."""

import os
import shutil
import subprocess
import time
from contextlib import contextmanager

from tests import programs

PROGRAMS = ("ibsim", "opensm", "ibnetdiscover", "dump_fts")
SEARCH = f"{os.environ['PATH']}:/usr/sbin"
LIBRARY = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
LIMIT_S = 30
#: By the name of what is printed.
FILES = ("opensm-subnet.lst", "opensm-lfts.dump", "opensm.fdbs", "opensm.log")


def missing():
    """Return the programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCH) is None]


class Simulated:
    """A fabric that ibsim simulates, and the tools on it; all that they write is in one folder."""

    def __init__(self, folder, simulator):
        self.folder, self.simulator = folder, simulator

    def command(self, text):
        """Give ibsim a command, and wait until it is carried out."""
        prompts = self._prompts()
        self.simulator.stdin.write(f"{text}\n")
        self.simulator.stdin.flush()
        self.wait(prompts + 1)

    def _prompts(self):
        return (self.folder / "ibsim.out").read_text().count("sim> ")

    def wait(self, prompts=1):
        """Wait until ibsim has prompted so many times."""
        until = time.monotonic() + LIMIT_S
        while self._prompts() < prompts:
            assert self.simulator.poll() is None and time.monotonic() < until
            time.sleep(0.01)

    def tool(self, host, *words):
        """Return what a tool prints that runs at an adapter."""
        env = environment(self.folder) | {"LD_PRELOAD": LIBRARY, "SIM_HOST": host}
        return programs.run(words, env=env, cwd=self.folder, timeout=LIMIT_S).stdout

    def sweep(self, host, engine, *options):
        """Let OpenSM route by one engine; return the cabling and the tables as each tool prints them."""
        log = self.folder / "opensm.log"
        log.unlink(missing_ok=True)
        routed = self.tool(
            host,
            "opensm",
            "-o",
            "-D",
            "0x43",
            "-f",
            log,
            "-R",
            f"{engine},no_fallback",
            *options,
        )
        assert f"{engine} tables configured on all switches" in log.read_text(), routed
        return self.printed(host) | {
            name: (self.folder / name).read_text() for name in FILES
        }

    def printed(self, host):
        """Return the cabling and the tables as tools read them from the fabric."""
        return {name: self.tool(host, name) for name in ("ibnetdiscover", "dump_fts")}


def environment(folder):
    """Return the environment of ibsim and of the tools on it."""
    return {
        "PATH": SEARCH,
        "IBSIM_SOCKNAME": f"test{hash(folder)}",
        "OSM_TMP_DIR": folder,
        "OSM_CACHE_DIR": folder,
    }


@contextmanager
def simulated(cabling, folder):
    """Simulate a fabric; ibsim ends with the block."""
    (folder / "net").write_text(cabling.text())
    with (folder / "ibsim.out").open("w") as output:
        command = [
            "ibsim",
            "-s",
            "-N",
            "512",
            "-S",
            "128",
            "-P",
            "9999",
            folder / "net",
        ]
        simulator = subprocess.Popen(
            command,
            stdin=-1,
            stdout=output,
            stderr=output,
            env=environment(folder),
            text=True,
        )
    try:
        made = Simulated(folder, simulator)
        made.wait()
        yield made
    finally:
        simulator.kill()
        simulator.wait()
