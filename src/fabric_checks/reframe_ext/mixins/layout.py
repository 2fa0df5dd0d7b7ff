# SPDX-License-Identifier: BSD-3-Clause
"""The layouts of a check, the partitions and environments that fit, and the limits of its job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reframe.core.builtins import parameter, run_after, run_before
from reframe.core.environments import Environment
from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime
from reframe.core.systems import SystemPartition
from reframe.utility import temp_setattr

from fabric_checks.core import families, locks
from fabric_checks.core.errors import FabricError
from fabric_checks.core.extras import Extras
from fabric_checks.core.layouts import Layout, corners, fitting, of_shape
from fabric_checks.core.levels import (
    ACCEPTANCE,
    NIGHTLY,
    PROCUREMENT,
    SMOKE,
    SMOKE_NODES,
    VET,
    Levels,
    includes,
)
from fabric_checks.records import repeats
from fabric_checks.reframe_ext.internals import parameter_values

#: The longest time in the queue by default.
MAX_PENDING_TIME = "1d"


#: Why a partition with an MPI is left out.
NO_CORES = (
    "the number of cores is unknown; give the partition 'processor' or extras['cores']"
)

#: The checks that the current system has no case of, by name, with the reason; complete when all files are
#: loaded.
LEFT_OUT: dict[str, str] = {}


def with_mpi() -> list[SystemPartition]:
    """Return the partitions of the current system with an environment for the checks; a site may have
    others."""
    return [
        partition
        for partition in runtime().system.partitions
        if any("mpi" in environ.features for environ in partition.environs)
    ]


def partitions() -> list[SystemPartition]:
    """Return those of them that jobs can be sized for: their cores are known, or their layouts."""
    return [
        partition
        for partition in with_mpi()
        if partition.processor.num_cores
        or {"cores", "layouts"} & partition.extras.keys()
    ]


def environs() -> list[Environment]:
    """Return the environments of these partitions."""
    return [environ for partition in partitions() for environ in partition.environs]


def all_layouts_of(partition: SystemPartition) -> list[Layout]:
    """Return every layout that fits a partition: its extras ``nodes``, ``cores`` and ``ppn``, or those in
    ``layouts``.

    The default of ``nodes`` is 1, that of ``cores`` the detected topology.
    """
    extras = Extras.of(partition)
    if extras.layouts is not None:
        return sorted(map(Layout.of, extras.layouts))
    cores = extras.cores or partition.processor.num_cores
    try:
        return fitting(extras.nodes, cores, extras.ppn)
    except FabricError as error:
        raise ConfigError(f"{partition.fullname}: extras: {error}") from None


def gpus_of(partition: SystemPartition) -> int:
    """Return the number of GPUs of a node: ``extras['gpus']``, or ReFrame's ``devices`` of type ``gpu``; or
    0."""
    gpus = Extras.of(partition).gpus
    devices = sum(
        each.num_devices for each in partition.devices if each.device_type == "gpu"
    )
    return devices if gpus is None else gpus


def offered(*features: str) -> bool:
    """Return whether some environment of the current system has all of these features."""
    return any(set(features) <= set(environ.features) for environ in environs())


def is_for(ranks: str, layout: Layout, partition: SystemPartition) -> bool:
    """Return whether a layout on several nodes has the processes a node that a check asks for.

    :param ranks: ``any`` number; one a ``node``; or one a node and one an ``adapter``: what asks for the
        fabric learns nothing from more, and on all cores its pairs grow with their square.
    """
    if ranks == "any" or layout.nodes == 1:
        return True
    return layout.ppn == 1 or (
        ranks == "adapter" and layout.ppn == Extras.of(partition).nics
    )


def layouts(
    shape: str,
    *,
    ranks: str = "any",
    most: int | None = None,
    scan: bool = True,
    where: Callable[[Layout], bool] = lambda _: True,
    needs: tuple[str, ...] = (),
) -> Any:
    """Return a check's parameter ``layout``: the layouts of a shape that fit the current system.

    :param ranks: see :func:`is_for`; the check says the same as ``ranks_between_nodes``.
    :param most: see :func:`within`.
    :param scan: see :func:`layouts_of`.
    :param where: selects some of them.
    :param needs: features; if no environment has them, there is no layout, and no warning that none fits.
    """
    found = (
        layouts_of(shape, ranks=ranks, most=most, scan=scan) if offered(*needs) else []
    )
    return parameter([str(layout) for layout in found if where(layout)], type=str)


def within(
    most: int | None, found: Sequence[Layout], partition: SystemPartition
) -> list[Layout]:
    """Return the layouts of at most so many processes; a warning names the others, which are not run."""
    if most is None:
        return list(found)
    more = [layout for layout in found if layout.tasks > most]
    left = [layout for layout in found if layout not in more]
    for layout in more:
        getlogger().warning(
            f"{partition.fullname}: checks of all pairs are not run on {layout}: would need"
            f" {layout.tasks**2:,} pairs, and {most**2:,} can be analysed; the largest is"
            f" {max(left, default='none')}",
            cache=True,
        )
    return left


def layouts_of(
    shape: str, *, ranks: str = "any", most: int | None = None, scan: bool = True
) -> list[Layout]:
    """Return the layouts of a shape (see :data:`fabric_checks.core.layouts.SHAPES`) that fit the current
    system.

    A warning names a partition that is too small for any.

    :param ranks: see :func:`is_for`.
    :param scan: all of them; otherwise their :func:`~fabric_checks.core.layouts.corners`, for checks of which
        there are many, so that their number does not grow with the system.
    """
    found: set[Layout] = set()
    for partition in partitions():
        fit = [
            layout
            for layout in of_shape(shape, all_layouts_of(partition))
            if is_for(ranks, layout, partition)
        ]
        fit = within(most, fit, partition)
        if not fit:
            getlogger().warning(
                f"{partition.fullname} is too small for any check that needs {shape!r} processes",
                cache=True,
            )
        found.update(fit if scan else corners(fit))
    return sorted(found)


def whole_partitions() -> list[Layout]:
    """Return the layouts on all nodes of a partition: values of ``layout`` for a check of each node."""
    found: set[Layout] = set()
    for partition in partitions():
        fit = all_layouts_of(partition)
        found.update(layout for layout in fit if layout.nodes == fit[-1].nodes)
    return sorted(found)


def why_left_out(cls: type[RegressionTestPlugin]) -> str | None:
    """Return why the current system has no case of a check class, and note it; None if it has some."""
    why, needed = None, cls.needed()
    if not offered(*needed):
        lacking = [
            [need for need in needed if need not in environ.features]
            for environ in environs()
        ]
        fewest = min(lacking, key=len, default=list(needed))
        why = f"no environment has {' and '.join(fewest)}"
    elif not parameter_values(cls)["layout"]:
        why = "no layout of a partition fits"
    LEFT_OUT.pop(cls.__name__, None)  # of another system of this process
    if why:
        LEFT_OUT[cls.__name__] = why
    return why


class LayoutMixin(RegressionTestPlugin):
    """Turn a check's declarations into tasks, partitions, environments, tags and the limits of its job.

    A partition sets the longest time in the queue under ``extras['max_pending_time']``, in ReFrame's
    notation, such as ``12h``. One whose launcher bounds the time of what it starts has
    ``extras['launcher_bounds_time']``. One that is the host that ReFrame runs on names a lock file under
    ``extras['host_lock']``, in a folder of its user's alone, and its ``prepare_cmds`` acquire that lock: the
    job itself holds it.

    Needs: the parameter ``layout`` from the start.
    """

    #: The section of the report; a title of :mod:`fabric_checks.core.families` or any other.
    family = families.OTHERS

    #: The levels of its cases.
    levels = Levels()

    #: Features that the environment has to have; without an environment that has them the class is no check.
    needs: tuple[str, ...] = ("mpi",)

    #: Features that the environment has to have for certain values of a parameter: by parameter and value.
    needs_of: Mapping[str, Mapping[str, tuple[str, ...]]] = {}

    #: The processes a node of its layouts on several nodes, see :func:`is_for`.
    ranks_between_nodes = "any"

    #: Whether its program itself measures again what looks bad, so that a miss is not repeated.
    confirms_itself = False

    #: Whether no other case may run beside it in one allocation, as it measures what all nodes share.
    needs_whole_fabric = False

    #: The current launch of several: see :class:`LaunchesMixin`.
    launched: Layout | None = None

    @property
    def extras(self) -> Extras:
        """What the site's settings say of the partition."""
        return Extras.of(self.current_partition)

    @property
    def current_layout(self) -> Layout:
        """The layout of the current launch, which is the case's if there is only one."""
        return self.launched or Layout.of(self.layout)

    @property
    def launches(self) -> list[Layout]:
        """The layouts that the program is launched in, one after the other."""
        return [self.current_layout]

    @property
    def launch_suffix(self) -> str:
        """What the names of the files of one launch of several have behind their stem."""
        return f"-{self.current_layout}" if len(self.launches) > 1 else ""

    @contextmanager
    def launched_in(self, layout: Layout) -> Iterator[None]:
        """Make one launch the current one: ``current_layout`` and the numbers of tasks are those of the
        launch."""
        with (
            temp_setattr(self, "launched", layout),
            temp_setattr(self, "num_tasks", layout.tasks),
            temp_setattr(self, "num_tasks_per_node", layout.ppn),
        ):
            yield

    def outputs(self, last: str) -> dict[Layout, str]:
        """Return the output of each launch, given the last one."""
        return {self.current_layout: last}

    @run_after("init")
    def apply_layout(self):
        """Request room for each of the launches, and select partitions and environments that fit."""
        self.num_tasks_per_node = max(layout.ppn for layout in self.launches)
        self.num_tasks = (
            max(layout.nodes for layout in self.launches) * self.num_tasks_per_node
        )
        self.valid_systems = [partition.fullname for partition in partitions()]
        self.run_only_on(
            lambda partition: (
                set(self.launches) <= set(all_layouts_of(partition))
                and is_for(self.ranks_between_nodes, self.current_layout, partition)
            )
        )
        more = [
            need
            for name, by in self.needs_of.items()
            for need in by.get(str(getattr(self, name, "")), ())
        ]
        features = dict.fromkeys((*self.needed(), *more))
        self.valid_prog_environs = [" ".join(f"+{name}" for name in features)]

    def run_only_on(self, is_able: Callable[[SystemPartition], bool]) -> None:
        """Leave out the partitions that the check cannot run on."""
        self.valid_systems = [
            partition.fullname
            for partition in partitions()
            if partition.fullname in self.valid_systems and is_able(partition)
        ]

    @classmethod
    def needed(cls) -> tuple[str, ...]:
        """Return the features that an environment has to have for any case of the check."""
        return cls.needs

    @run_after("init", always_last=True)
    def add_tags(self):
        """Give the case the tags of its family and of its levels (:mod:`fabric_checks.core.levels`)."""
        self.tags = {
            *self.tags,
            families.tag(self.family),
            ACCEPTANCE,
            *self.chosen_levels(),
        }

    @run_after("init", always_last=True)
    def keep_to_repeats(self):
        """In a session that repeats misses, run in their environments alone; what is computed from other
        cases, or confirms itself, is not repeated."""
        if (wanted := repeats.asked_for()) is None:
            return
        names = [name.rpartition(" @") for name in wanted]
        places = {place for test, _, place in names if test == self.display_name}
        if self.confirms_itself or self.user_deps():
            places = set()
        self.run_only_on(
            lambda each: any(p.startswith(f"{each.fullname}+") for p in places)
        )
        self.valid_prog_environs = [place.partition("+")[2] for place in places]

    @run_before("run")
    def take_the_same_nodes(self):
        """In a session that repeats misses, run on the nodes of the miss."""
        place = f"{self.current_partition.fullname}+{self.current_environ.name}"
        wanted = repeats.asked_for() or {}
        self.job.pin_nodes = list(wanted.get(f"{self.display_name} @{place}", ()))

    def chosen_levels(self) -> set[str]:
        """Return the levels other than ``acceptance``; ``smoke`` and ``nightly`` by the corners of each
        partition."""
        named = {PROCUREMENT: self.levels.procurement, VET: self.levels.vet}
        found = {name for name, cases in named.items() if includes(cases, self)}
        if not includes(self.levels.nightly, self):
            return found
        own = {Layout.of(layout) for layout in parameter_values(type(self))["layout"]}
        for partition in partitions():
            fit = own & set(all_layouts_of(partition))
            if self.current_layout in corners(
                layout for layout in fit if layout.nodes <= SMOKE_NODES
            ):
                found |= {SMOKE, NIGHTLY}
            elif self.current_layout in corners(fit):
                found.add(NIGHTLY)
        return found

    @run_after("setup")
    def join_allocation(self):
        """Let a case that is to be a step of a larger allocation keep to its nodes there."""
        join = getattr(self.job.scheduler, "join", None)
        if join:
            join(self.job, self)

    @run_after("setup")
    def bound_pending_time(self):
        """Take the partition's bound, unless the check or the command line sets one."""
        if self.max_pending_time is None:
            own = self.extras.max_pending_time
            self.max_pending_time = own or MAX_PENDING_TIME

    @run_before("run", always_last=True)
    def leave_time_to_the_launcher(self):
        """Drop the limit of the job where the launcher has a better one, as for simulations."""
        if self.extras.launcher_bounds_time:
            self.time_limit = None

    @run_before("run", always_last=True)
    def wait_for_host(self):
        """Wait for other sessions on this host, so that the wait does not count as the job's time.

        Another session's build may hold the lock for longer than the time limit of a case; the job acquires
        it again. Without a folder for the lock, which another user can take, there is a warning and no wait.

        :raises FabricError: with the holder, if it is not free in time.
        """
        path = self.extras.host_lock
        if not path or self.is_dry_run():
            return
        try:
            locks.own_folder(Path(path).parent)
        except FabricError as error:
            getlogger().warning(str(error), cache=True)
            return

        def report(holder):
            getlogger().info(
                f"{self.display_name} waits for another session's job on this host: {holder}"
            )

        with locks.exclusive(Path(path), locks.HOST_WAIT_S, report):
            pass
