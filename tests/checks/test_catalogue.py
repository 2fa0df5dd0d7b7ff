# SPDX-License-Identifier: BSD-3-Clause
"""Every metric of every case of every shipped system has a reference or a reason; no reference is an
orphan."""

import re
import runpy

import pytest

from fabric_checks.core import families
from fabric_checks.parsers import osu
from fabric_checks.references import reference_file
from fabric_checks.reframe_ext import catalogue, internals
from fabric_checks.reframe_ext.mixins.references import check_names
from fabric_checks.software.suites import SUITES
from tests import loading
from tests.breakages import refused
from tests.checks import everything, metrics_page
from tests.conftest import GOLDEN, ROOT

REFERENCES = ROOT / "config/references"


def words(text):
    return set(text.split())


#: What OSU's Python ports have.
OSU = words("latency multi_lat bw bibw allgather alltoall bcast gather scatter barrier")
COLLECTIVES = words("""
allgather allgatherv allreduce alltoall alltoallv alltoallw bcast gather gatherv reduce reduce_scatter scatter
scatterv""")
NEIGHBOURS = words("allgather allgatherv alltoall alltoallv alltoallw")
OF_C = words("""
mbw_mr latency_mt latency_persistent bw_persistent bibw_persistent bw_fan_in bw_fan_out init hello
reduce_scatter_block barrier_persistent put_latency get_latency acc_latency get_acc_latency cas_latency
fop_latency put_bw get_bw put_bibw""")
#: What OSU's own programs have, but for latency_mp, whose processes are forked.
OSU_C = {
    *(OSU | COLLECTIVES | OF_C),
    *(f"{name}_persistent" for name in COLLECTIVES),
    *(f"i{name}" for name in COLLECTIVES | {"reduce_scatter_block", "barrier"}),
    *(f"{kind}_{name}" for kind in ("neighbor", "ineighbor") for name in NEIGHBOURS),
}
IMB_COLLECTIVES = words("""
Allgather Allgatherv Allreduce Alltoall Alltoallv Bcast Gather Gatherv Reduce Reduce_scatter Scatter Scatterv
Barrier""")
IMB_MPI1 = words("""
PingPong PingPing Sendrecv Exchange Uniband Biband Reduce_local Reduce_scatter_block""")
IMB_RMA = words("""
Unidir_put Unidir_get Bidir_put Bidir_get Put_local Get_local Put_all_local Get_all_local One_put_all
One_get_all All_put_all All_get_all Exchange_put Exchange_get Accumulate Get_accumulate Compare_and_swap
Fetch_and_op Truly_passive_put""")
IMB = {
    "IMB-MPI1": IMB_MPI1 | IMB_COLLECTIVES,
    "IMB-NBC": {f"I{name.lower()}" for name in IMB_COLLECTIVES},
    "IMB-RMA": IMB_RMA,
}
OWN = words("""
BufferReuse CollectiveOverlap HotSpot LatencyMap Notification Overlap Rotate Streaming StreamingQueue""")
LAMMPS = {"lj", "chain", "eam", "chute", "rhodo"}


@pytest.fixture(scope="module")
def with_builds(of_module):
    """Return the cases of this host, and what is built for them."""
    of_module.setenv("FABRIC_MPI", "all")
    return loading.cases("local")


@pytest.fixture(scope="module")
def local_cases(with_builds):
    return without_builds(with_builds)


def without_builds(cases):
    return [case for case in cases if not case.check.is_fixture()]


def test_the_catalogue_is_complete(local_cases):
    def have(kind, attribute):
        return {
            getattr(case.check, attribute)
            for case in local_cases
            if type(case.check).__name__.startswith(kind)
        }

    assert have("Osu", "benchmark") == OSU
    imb = [
        case.check
        for case in local_cases
        if type(case.check).__name__.startswith("Imb")
    ]
    for program, benchmarks in IMB.items():
        assert {
            check.benchmark for check in imb if check.imb_program == program
        } == benchmarks
    assert have("Lammps", "problem") == LAMMPS
    assert {
        type(case.check).__name__
        for case in local_cases
        if hasattr(case.check, "own_program")
    } == OWN


@pytest.fixture(scope="module")
def all_cases(of_module):
    """Return the cases of a system whose environment offers everything; one of its partitions has GPUs."""
    return everything.cases(of_module)


def test_the_catalogue_of_a_system_that_offers_everything(all_cases):
    checks = [case.check for case in all_cases if case.partition.name == "cpu"]

    def have(kind, attribute="benchmark"):
        return {
            getattr(check, attribute)
            for check in checks
            if type(check).__name__.startswith(kind)
        }

    assert have("Osu") == OSU_C
    synchronised = {
        (check.benchmark, check.synchronisation)
        for check in checks
        if type(check).__name__ in ("OsuOneSidedLatency", "OsuOneSidedAtomic")
    }
    assert len(synchronised) == 6 * len(osu.SYNCHRONISATIONS)
    assert have("Imb") == {name for names in IMB.values() for name in names}
    assert {
        (check.kernel, check.problem_class)
        for check in checks
        if type(check).__name__ == "NpbKernel"
    } == {(kernel, problem_class) for kernel in ("is", "ft") for problem_class in "ABC"}
    assert have("LammpsScaled", "problem") == LAMMPS
    assert not any(
        "smoke" in check.tags
        for check in checks
        if {"nbc", "one-sided", "startup", "npb"} & check.tags
    )


def test_every_feature_that_a_check_needs_is_declared(all_cases):
    """Without a declaration no environment offers it, and the cases would never run."""
    declared = {
        name for suite in SUITES.values() for name in (suite.name, *suite.features)
    }
    needed = set()
    for cls in {type(case.check) for case in all_cases}:
        of_values = [
            needs for by_value in cls.needs_of.values() for needs in by_value.values()
        ]
        needed |= {
            feature for features in (cls.needed(), *of_values) for feature in features
        }
    # What waits by blocking, or takes the memory of GPUs, is an MPI.
    of_mpi = {"mpi", "mpicc", "blocking_wait", "mpi_cuda", "mpi_rocm"}
    assert {"osu_c", "imb_rma", "npb", "mpi_cuda"} <= needed <= declared | of_mpi


def test_every_check_has_a_family_and_its_tag(all_cases):
    of_class = {
        type(case.check).__name__.removesuffix("PpnRatio"): case.check
        for case in all_cases
    }
    assert not [
        name for name, check in of_class.items() if check.family == families.OTHERS
    ]
    assert all(families.tag(check.family) in check.tags for check in of_class.values())


def test_every_headline_is_of_a_declared_metric(all_cases):
    """One that fits nothing would leave a row of the screen empty; programs of one row agree about its
    position."""
    rows, fitted = {}, set()
    for check in (case.check for case in all_cases):
        for headline in check.headlines:
            rows.setdefault(headline.title, set()).add(
                (headline.section, headline.order, headline.point)
            )
            if any(
                headline.fits(metric.quantity, check.own_parameters)
                for metric in check.metrics()
            ):
                fitted.add((type(check).__name__, headline.title))
    assert len(rows) == 22 and all(
        len(positions) == 1 for positions in rows.values()
    ), rows
    declared = {
        (type(c.check).__name__, each.title)
        for c in all_cases
        for each in c.check.headlines
    }
    assert fitted == declared


def test_a_bandwidth_of_one_direction_is_marked(all_cases):
    def one_way(name, **parameters):
        (found, *_) = [
            case.check
            for case in all_cases
            if type(case.check).__name__ == name
            and all(
                getattr(case.check, key) == value for key, value in parameters.items()
            )
        ]
        return {metric.quantity for metric in found.metrics() if metric.one_way}

    assert (
        one_way("OsuBandwidth", benchmark="bw")
        == one_way("OsuMessageRate")
        == {"bandwidth"}
    )
    assert one_way("ImbPointToPoint", benchmark="PingPong") == {"bandwidth"}
    assert "median_bandwidth" in one_way("Rotate", pattern="shift")
    assert one_way("Streaming") == {
        "peak_bandwidth_ping_pong",
        "peak_bandwidth_streaming",
    }
    assert (
        one_way("OsuBandwidth", benchmark="bibw")
        == one_way("ImbParallel")
        == one_way("OsuCongestion")
        == set()
    )


def test_every_metric_has_its_sentence_and_the_page_has_all(all_cases):
    checks = [case.check for case in all_cases]
    without = {
        (type(check).__name__, metric.name)
        for check in checks
        for metric in check.metrics()
        if not metric.about
    }
    assert not without
    assert metrics_page.text(checks) == metrics_page.PAGE.read_text(), (
        "python -m tests.checks.metrics_page"
    )


def test_the_names_of_all_checks_are_those_that_are_registered(all_cases):
    """Those of comparisons too, which are made when the checks are loaded; and none of a class that is only a
    base."""
    loaded = {type(case.check).__name__ for case in all_cases}
    assert (
        {"OsuLatency", "OsuLatencyPpnRatio", "LammpsPpnSeries"}
        <= loaded
        <= check_names()
    )
    assert not {"OsuCheck", "FabricCheck", "LammpsBenchPpnRatio"} & check_names()


@pytest.mark.parametrize(
    "name, command",
    [
        ("latency", "/osu/pt2pt/osu_latency -m 1:4194304 -d cuda D D"),
        ("allreduce", "/osu/collective/osu_allreduce -m 1:1048576 -d cuda"),
        (
            "put_latency",
            "/osu/one-sided/osu_put_latency -m 1:4194304 -w create -s lock -d cuda D D",
        ),
        (
            "Sendrecv",
            "/imb/IMB-MPI1-GPU Sendrecv -mem_alloc_type device -npmin 2 -msglog 0:22 -iter 5000,200",
        ),
    ],
)
def test_a_partition_with_gpus_needs_only_its_feature(all_cases, name, command):
    cases = [case for case in all_cases if getattr(case.check, "benchmark", "") == name]
    on_device = [case for case in cases if case.check.memory == "cuda"]
    first = on_device[0].check
    line = " ".join([first.executable, *first.executable_opts])
    assert line == f"{first.ports_program} --output ports -- {command}"
    assert {case.partition.name for case in on_device} == {"gpu"}
    assert all(
        "cuda" in case.check.tags and "smoke" not in case.check.tags
        for case in on_device
    )
    in_host_memory = [case.check for case in cases if case.check.memory == "host"]
    assert in_host_memory
    assert not any("-d" in check.executable_opts for check in in_host_memory)


def test_buffers_in_the_wrong_memory_are_refused(all_cases):
    check = next(
        case.check
        for case in all_cases
        if getattr(case.check, "memory", "") == "cuda" and case.check.benchmark == "bw"
    )
    text = (GOLDEN / "osu/7.4/osu_bw.txt").read_text()
    with refused("buffers in cuda memory were asked for, but these are in host memory"):
        check.measure(text)
    check.measure(text.replace("OSU MPI Bandwidth", "OSU MPI-CUDA Bandwidth"))


def test_large_collectives_stay_within_the_limit_of_osu(all_cases):
    check = next(
        case.check
        for case in all_cases
        if getattr(case.check, "benchmark", "") == "allreduce"
    )
    check.num_tasks = 2048
    assert check.sizes_B[-1] == 256 * 1024


def test_scaled_inputs_grow_with_the_nodes(all_cases):
    commands = {
        case.check.problem: " ".join(case.check.executable_opts).partition("lmp ")[2]
        for case in all_cases
        if type(case.check).__name__ == "LammpsScaled"
    }
    assert (
        commands["chain"] == "-in in.chain.scaled -log none -var x 2 -var y 1 -var z 1"
    )
    assert commands["chute"] == "-in in.chute.scaled -log none -var x 2 -var y 1"
    assert commands["lj"] == "-in in.lj -log none -var x 2 -var y 1 -var z 1"


def test_each_environment_runs_what_it_offers(local_cases):
    def family(check):
        return "own" if hasattr(check, "own_program") else type(check).__name__[:3]

    runs = {(case.environ.name, family(case.check)) for case in local_cases}
    everything = {"Osu", "Imb", "Lam", "own"}
    assert runs == {(mpi, kind) for mpi in ("mpich", "impi") for kind in everything} | {
        ("openmpi", "Osu"),
        ("openmpi", "own"),
    }


def test_what_an_environment_does_not_offer_has_a_reason(local_cases):
    for environ in {case.environ.name: case.environ for case in local_cases}.values():
        without = environ.extras["without"]
        for suite in (
            name for name, suite in SUITES.items() if not suite.only_of_sites
        ):
            assert (suite in environ.features) != bool(without.get(suite)), (
                environ.name,
                suite,
            )
        for feature in ("osu_c", "imb_nbc", "imb_rma"):
            suite = feature.split("_")[0]
            assert suite not in environ.features or (
                feature in environ.features
            ) != bool(without.get(feature))


#: Systems of one partition that is one of `twins` too, where its cases are looked at.
TWINS = sorted(path.stem for path in (ROOT / "config/twins").glob("*.yaml"))

#: Alone each twin is what it is among all, so one of them is set up.
SYSTEMS = [
    name for name in loading.shipped_systems() if name not in TWINS and name != "twins"
]


@pytest.fixture(scope="module", params=[*SYSTEMS, TWINS[0]])
def of_system(request, of_module):
    """Return the name of a shipped system and its cases."""
    of_module.setenv("FABRIC_MPI", "all")
    if request.param == "local":
        cases = request.getfixturevalue("local_cases")
    else:
        cases = without_builds(loading.cases(request.param))
    assert {case.partition.fullname.split(":")[0] for case in cases} == {request.param}
    return request.param, cases


def test_every_metric_has_a_reference_or_a_reason(of_system):
    for case in of_system[1]:
        check = case.check
        assert check._reference_error == ""
        names = [metric.name for metric in check.metrics()]
        assert names and len(names) == len(set(names))
        for name in names:
            reference = check.reference[f"{case.partition.fullname}:{name}"]
            judged = any(bound is not None for bound in reference[1:3])
            assert judged != bool(check.facts.metrics[name].no_reference), (
                check.display_name,
                name,
            )


def test_every_reference_file_belongs_to_a_system():
    assert {path.stem for path in REFERENCES.glob("*.yaml")} == set(
        loading.shipped_systems()
    ) - {"twins"}


def test_a_twin_alone_is_what_it_is_among_all():
    settings = runpy.run_path(str(ROOT / "config/systems/twins.py"))
    systems = {system["name"]: system["partitions"] for system in settings["systems"]}
    *names, last = systems
    assert names == TWINS and last == "twins"
    for name, among_all in zip(names, systems["twins"], strict=True):
        (alone,) = systems[name]
        assert alone["extras"] == among_all["extras"]
        assert alone["env_vars"] == among_all["env_vars"]
        assert alone["name"] == "twin"
        assert among_all["name"] == name


def test_no_shipped_reference_file_has_a_fault(of_system):
    """Of the system, or of the partitions that name it: no orphan, no gap, no wrong unit, no reason for
    nothing."""
    require_no_fault(of_system[1])


def require_no_fault(cases):
    """Hold cases, which need not be set up, to their files; all of these have to be for some metric."""
    named = {}
    for case in cases:
        check = internals.placed(case)
        name = case.partition.extras.get("references", check.current_system.name)
        file = reference_file.load(REFERENCES / f"{name}.yaml")
        metrics = list(check.metrics())
        assert check._find_references(file, metrics)[0].keys() == {
            metric.name for metric in metrics
        }
        named.setdefault(name, []).extend(
            {**check._reference_case(), "metric": metric.name} for metric in metrics
        )
    for name, metrics in named.items():
        file = reference_file.load(REFERENCES / f"{name}.yaml")
        for item in (*file.reasons, *file.derived, *file.evidence):
            assert any(item.covers(**metric) for metric in metrics), item


@pytest.mark.long
def test_no_reference_file_of_a_twin_has_a_fault(of_module):
    of_module.setenv("FABRIC_MPI", "all")
    builds, cases = [], []
    for case in loading.cases("twins", set_up=False):
        (builds if case.check.is_fixture() else cases).append(case)
    for case in builds:
        internals.set_up(case)
    assert {case.partition.fullname for case in cases} == {
        f"twins:{name}" for name in TWINS
    }
    require_no_fault(cases)


def test_a_case_declares_its_metrics_before_it_is_set_up(of_module):
    of_module.setenv("FABRIC_MPI", "all")
    builds, cases = [], []
    for case in loading.cases("local", set_up=False):
        (builds if case.check.is_fixture() else cases).append(case)
    for case in builds:
        internals.set_up(case)
    declared = [catalogue.data_of(case, ())["metrics"] for case in cases]
    for case in cases:
        internals.set_up(case)
    metrics = [case.check.metrics() for case in cases]
    assert declared == [[metric.name for metric in each] for each in metrics]


def test_no_check_names_a_system_a_scheduler_or_an_mpi():
    words = re.compile(
        r"\b(slurm|srun|sbatch|pbs|flux|lsf|mpirun|mpiexec|openmpi|open mpi|mpich|impi|spack|local:|simgrid"
        r"|mvapich2?|pmi2|pmix|aprun|minicluster|twins|generic_\w+)\b",
        re.I,
    )
    # What builds is built by it; and the order of a script's lines shows one scheduler's.
    allowed = {("builds.py", "spack"), ("base.py", "spack"), ("base.py", "sbatch")}
    for path in sorted((ROOT / "checks").rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = [
                word
                for word in words.findall(line)
                if (path.name, word.lower()) not in allowed
            ]
            assert not found, f"{path.name}:{number}: {found[0]}"


def test_both_ways_is_both_ways_whoever_counts(local_cases):
    """mpi4py's port of bibw prints the bytes of one direction only: its source has no factor of two."""
    check = next(
        case.check
        for case in local_cases
        if type(case.check).__name__ == "OsuBandwidth"
        and case.check.benchmark == "bibw"
        and case.check.layout == "1x2"
    )
    text = (GOLDEN / "osu-py/4.1.2/osu_bibw.txt").read_text()
    last = float(text.split()[-1])
    assert check.measure(text)[f"bandwidth_{4 * 1024**2}B"] == 2 * last


def test_a_build_on_this_host_is_one_of_its_jobs(with_builds):
    """ReFrame would run it in a pool of its own, at the same time as the jobs of the partition."""
    builds = [case.check for case in with_builds if case.check.is_fixture()]
    assert builds
    for build in builds:
        assert not build.local and not build.build_locally, build.display_name


def test_one_performance_job_at_a_time():
    """Every job on the one node of `local` holds the lock of that node."""
    systems = runpy.run_path(str(loading.SETTINGS))["site_configuration"]["systems"]
    (local,) = (system for system in systems if system["name"] == "local")
    (partition,) = local["partitions"]
    assert partition["max_jobs"] == 1
    assert any("flock" in command for command in partition["prepare_cmds"])
