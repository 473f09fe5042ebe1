"""`palaestra bench env`: measures the cost of a world in one run, so that its ratios are comparable across machines."""

import gc
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import cycle, islice

import gymnasium as gym

from palaestra.benchmarks.speed.code_actions import time_code_actions
from palaestra.benchmarks.speed.comparisons import ratios
from palaestra.benchmarks.speed.copies import time_copies
from palaestra.benchmarks.speed.episodes import mix, time_cold_resets, time_episodes
from palaestra.benchmarks.speed.figures import EnvironmentMemory, MissingFigure, ProcessMemory, SpeedReport, Throughput
from palaestra.benchmarks.speed.peers import PEERS, adapter
from palaestra.benchmarks.speed.scale import FULL, Scale
from palaestra.benchmarks.speed.stopwatch import METHOD, Stopwatch
from palaestra.benchmarks.speed.stores import time_functions, time_reads, time_row_copies, time_stores
from palaestra.benchmarks.speed.vectors import measure_vectors, plays
from palaestra.benchmarks.speed.weights import weigh
from palaestra.envs import ToolEnv
from palaestra.errors import CapabilityError, TaskError
from palaestra.records import JsonObject

CODE = "code actions"
SERVER = "AWM-shaped server"
_NEEDS = ("fastapi", "httpx", "uvicorn")

SECTIONS = (
    "cold resets",
    "episodes",
    "copies",
    "bare functions",
    "stores",
    "reads",
    "row copies",
    CODE,
    SERVER,
    *PEERS,
    "vectors",
    "memory",
)
"""The measured sections, in this order; `progress` receives each name when its section is done."""


def bench_env(
    env_id: str = "palaestra/Storefront-v0",
    *,
    scale: Scale = FULL,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> SpeedReport:
    """Measure a world: the oracle's episodes of split train, copies, memory, vectors, and other implementations.

    Args:
        env_id: The world.
        scale: The size of the run.
        seed: Random seed of the order of the tasks.
        progress: Receives the name of each of `SECTIONS` when it is done.
    """
    run = _Run(env=make_env(env_id), env_id=env_id, scale=scale, seed=seed, machine=_machine())
    for name in SECTIONS:
        run.measure(name)
        progress(name)
    return run.report()


@dataclass(slots=True, kw_only=True)
class _Run:
    """A run in progress: the world, and the results so far."""

    env: ToolEnv
    env_id: str
    scale: Scale
    seed: int
    machine: JsonObject
    watch: Stopwatch = field(default_factory=Stopwatch)
    memory: EnvironmentMemory | None = None
    processes: list[ProcessMemory] = field(default_factory=list[ProcessMemory])
    throughputs: list[Throughput] = field(default_factory=list[Throughput])
    unmeasured: list[MissingFigure] = field(default_factory=list[MissingFigure])

    def measure(self, name: str) -> None:
        """Measure one of `SECTIONS`."""
        task_ids, scale = mix(self.env, self.seed), self.scale
        if name == "memory":
            self.memory = weigh(self.env_id, task_ids[: scale.episodes], scale.worlds)
        elif name == "vectors":
            self.throughputs += measure_vectors(self.env_id, plays(self.env, task_ids[: scale.played]), scale.processes)
        elif name == CODE:
            self._measure_code(task_ids[: max(1, scale.places // 4)])
        elif name == SERVER:
            self._measure_server(task_ids)
        elif name in PEERS:
            self._measure_peer(name)
        else:
            self.watch.quietest(self._time(task_ids)[name], scale.runs)

    def _time(self, task_ids: Sequence[str]) -> dict[str, Callable[[Stopwatch], None]]:
        env, scale = self.env, self.scale
        train = len(env.world.seeds["train"])
        few = task_ids[: scale.places]
        return {
            # One task more than there are worlds, so that at least one world is reset a second time, warm.
            "cold resets": lambda watch: time_cold_resets(watch, env, task_ids[: max(scale.cold, train + 1)]),
            "episodes": lambda watch: _time_warm_episodes(watch, env, task_ids, scale.episodes),
            "copies": lambda watch: time_copies(watch, make_env(self.env_id, max_turns=100_000), few),
            "bare functions": lambda watch: time_functions(watch, env, list(islice(cycle(task_ids), scale.episodes))),
            "stores": lambda watch: time_stores(watch, env, few),
            "reads": lambda watch: time_reads(watch, env, task_ids[0]),
            "row copies": lambda watch: time_row_copies(watch, env, task_ids[0], scale.copies),
        }

    def _measure_code(self, task_ids: Sequence[str]) -> None:
        try:
            self.watch.quietest(lambda watch: time_code_actions(watch, self.env_id, task_ids), self.scale.runs)
        except CapabilityError as error:
            self._leave_out(CODE, f"not measured: {error}")

    def _measure_server(self, task_ids: Sequence[str]) -> None:
        if any(find_spec(package) is None for package in _NEEDS):
            self._leave_out(SERVER, "not measured: pip install 'palaestra[bench]'")
            return
        from palaestra.benchmarks.speed.server import time_server  # noqa: PLC0415  its packages are an extra

        try:
            process = time_server(self.watch, self.env, task_ids, self.scale.served)
        except TaskError as error:  # the server has only the Storefront's tools
            self._leave_out(SERVER, f"not measured: {error}")
            return
        if process is not None:
            self.processes.append(process)

    def _measure_peer(self, name: str) -> None:
        found = adapter(name)
        if isinstance(found, str):
            self._leave_out(name, found)
        else:
            self.watch.quietest(lambda watch: found.measure(watch, self.scale.peer_tasks), 1)

    def _leave_out(self, section: str, why: str) -> None:
        self.unmeasured.append(MissingFigure(section=section, why=why))

    def report(self) -> SpeedReport:
        """The report of all results."""
        assert self.memory is not None, "memory is one of SECTIONS"
        timings = self.watch.timings()
        return SpeedReport(
            env_id=self.env_id,
            episodes=self.scale.episodes,
            seed=self.seed,
            machine=self.machine,
            method=METHOD,
            timings=timings,
            ratios=ratios(timings),
            memory=self.memory,
            processes=tuple(self.processes),
            throughputs=tuple(self.throughputs),
            unmeasured=tuple(self.unmeasured),
        )


def make_env(env_id: str, *, max_turns: int | None = None) -> ToolEnv:
    """The environment with that id, without wrappers."""
    env = gym.make(env_id, max_turns=max_turns)
    assert isinstance(env, ToolEnv), f"{env_id} is wrapped, or no environment of Palaestra's"
    return env


def _time_warm_episodes(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str], episodes: int) -> None:
    time_episodes(Stopwatch(), env, task_ids, min(episodes, len(task_ids)))  # indexes are built at first use
    gc.collect()
    time_episodes(watch, env, task_ids, episodes)


def _machine() -> JsonObject:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "load before": round(os.getloadavg()[0], 1),
    }
