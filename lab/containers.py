# SPDX-License-Identifier: BSD-3-Clause
"""The same program bare and inside an image, in turns, on a cluster of two hosts: the ratio of its times.

    . ci/env.sh
    python -m lab.containers 9                 # Podman; so many turns
    python -m lab.containers 9 Apptainer

ReFrame's dry run writes the job scripts of ``Streaming`` bare and inside, and those of its build, which are
run. Then one job for each layout has the launches of both in turns, for one message size at a time. The image
has the programs and the MPI of this machine mounted, so that only the runtime differs. The load is that of
the machine.
"""

import argparse
import json
import os
import re
import tempfile
from pathlib import Path
from statistics import median, quantiles

from fabric_checks.parsers import streaming
from tests.cluster.conftest import CI, Cluster
from tests.cluster.test_containers import description, remove

#: What is compared by message size: half the round trip of a small one, and the time of one of many large
#: ones.
MODES = {8: "ping_pong", 1048576: "streaming"}
LAYOUTS = {"1x2": "within a node", "2x1": "between nodes"}
SETTINGS = Path(__file__).with_name("containers_settings.py")


def dry_run(cluster, container, folder):
    """Write the job scripts bare or inside an image, and build the programs that they start."""
    line = [
        CI / "run",
        "--system",
        "minicluster",
        "-n",
        "^Streaming%layout=(1x2|2x1)$",
        "-C",
        SETTINGS,
        "--dry-run",
    ]
    variables = {
        "FABRIC_RESULTS": str(folder),
        "FABRIC_MPI": "mpich",
        "INSIDE": json.dumps(container),
    }
    cluster("exec", "head", "--", *map(str, line), timeout=1800, **variables)
    for build in folder.glob("stage/**/FabricPrograms_*/rfm_build.sh"):
        cluster(
            "exec",
            "head",
            "--",
            "sh",
            "-c",
            f"cd {build.parent} && bash {build.name} > build.txt 2>&1",
            timeout=1800,
        )


def script(folder, layout):
    """Return the job script of the case of a layout."""
    (found,) = (
        path
        for path in folder.glob("stage/**/Streaming_*/rfm_job.sh")
        if f"--nodes {layout[0]} --ppn {layout[-1]}" in path.read_text()
    )
    return found.read_text()


def in_turns(bare, inside, turns):
    """Return a job script with the launches of two scripts in turns; each leaves a file."""
    *head, one = bare.rstrip().splitlines()
    launches = {"bare": one, "inside": inside.rstrip().splitlines()[-1]}
    for turn in range(turns):
        head.append(f"cat /proc/loadavg > load-{turn}.txt")
        for size_B in MODES:
            for name, line in launches.items():
                own = re.sub(
                    r"--min-size \d+ --max-size \d+",
                    f"--min-size {size_B} --max-size {size_B}",
                    line,
                )
                name = f"{name}-{size_B}-{turn}"
                head.append(
                    f"{own.replace('--output ports', f'--output ports-{name}')} > {name}.txt || exit 1"
                )
    return "\n".join(head) + "\n"


def read(stage, kind, size_B, mode, turns):
    """Return the time of a size in each turn, in us."""
    texts = [
        (stage / f"{kind}-{size_B}-{turn}.txt").read_text() for turn in range(turns)
    ]
    return [
        streaming.parse(text, [size_B], directions="both").times_us(mode)[size_B]
        for text in texts
    ]


def compared(bare, inside):
    """Return in words the medians, and the median and the quartiles of the ratio within a turn."""
    ratios = [two / one for one, two in zip(bare, inside, strict=True)]
    low, _, high = quantiles(ratios, n=4)
    medians = f"bare {median(bare):.4g}, inside {median(inside):.4g} us"
    return f"{medians}; inside to bare {median(ratios):.2f} ({low:.2f} to {high:.2f}), {len(ratios)} turns"


def main():
    """Print the comparison for each layout and size, and the load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("turns", type=int)
    parser.add_argument("platform", nargs="?", default="Podman")
    asked = parser.parse_args()
    cluster, loads = Cluster(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "image").mkdir()
        container, why_not = description(asked.platform, folder / "image")
        if why_not:
            parser.error(why_not)
        try:
            cluster("up", "--nodes", "2", "--rate", "none")
            for kind, described in (("bare", {}), ("inside", container)):
                dry_run(cluster, described, folder / kind)
            for layout, where in LAYOUTS.items():
                stage = folder / layout
                stage.mkdir()
                scripts = [script(folder / kind, layout) for kind in ("bare", "inside")]
                (stage / "job.sh").write_text(in_turns(*scripts, asked.turns))
                submit = [
                    "sbatch",
                    "--wait",
                    "--time=0",
                    f"--chdir={stage}",
                    str(stage / "job.sh"),
                ]
                cluster("exec", "head", "--", *submit, timeout=1800)
                loads += [
                    float(path.read_text().split()[0])
                    for path in stage.glob("load-*.txt")
                ]
                for size_B, mode in MODES.items():
                    times_us = [
                        read(stage, kind, size_B, mode, asked.turns)
                        for kind in ("bare", "inside")
                    ]
                    print(
                        f"{where}, {mode} of {size_B} B: {compared(*times_us)}",
                        flush=True,
                    )
        finally:
            cluster.end()
            remove(asked.platform)
    print(f"load {min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
