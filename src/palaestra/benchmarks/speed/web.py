"""The cost of pages: steps, resets and forks in process, the same in Chromium, and peers in the same run."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import gymnasium as gym

import palaestra.benchmarks.speed.peers.browsergym as browsergym_program
import palaestra.benchmarks.speed.peers.openapps as openapps_program
from palaestra.benchmarks.speed.figures import Timing
from palaestra.benchmarks.speed.stopwatch import METHOD, Stopwatch
from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError
from palaestra.record import record
from palaestra.table import Table

_RUNS = 3
_CONTEXTS = 4
"""Number of additional contexts whose memory is measured."""
_PEER_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebScale:
    """The size of a run."""

    tasks: int = 60
    """Number of tasks in process."""
    browsed: int = 6
    """Number of tasks in Chromium."""
    peer_episodes: int = 8


WEB_FULL = WebScale()
WEB_QUICK = WebScale(tasks=4, browsed=1, peer_episodes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPeer:
    """The location of BrowserGym and of MiniWoB++'s pages."""

    python: Path
    """The path of an interpreter that has `browsergym-miniwob`."""
    pages: Path
    """The folder of MiniWoB++'s pages."""


@record
class WebReport:
    """The results of a run."""

    timings: tuple[Timing, ...]
    megabytes: float | None
    """Megabytes per additional context of Chromium (proportional set size); `None` without Chromium."""
    missing: tuple[str, ...]
    """Parts that were not measured, each with the reason."""

    def mean(self, name: str) -> float | None:
        """Mean microseconds of a timing; `None` where it was not measured."""
        return next((timing.mean for timing in self.timings if timing.name == name), None)


RESET, STEP, FORK = "reset with the first page, in process", "step with its page, in process", "fork of a live page"
CHROMIUM_RESET, CHROMIUM_STEP = "reset of a page that is used again, Chromium", "step, Chromium"
PEER_RESET, PEER_STEP = "reset, BrowserGym", "step, BrowserGym"
PEER_USUAL = "step, BrowserGym with its usual delay"
OPENAPPS_RESET, OPENAPPS_ROWS, OPENAPPS_STEP = "reset, OpenApps", "reset of its rows alone, OpenApps", "step, OpenApps"
AIMS = {RESET: 200.0, STEP: 300.0, FORK: 50.0, CHROMIUM_RESET: 75_000.0, CHROMIUM_STEP: 60_000.0}
"""Maximum microseconds, for the mean; for forks, for the median."""
MOST_MEGABYTES = 65.0


def bench_web(
    env_id: str,
    *,
    scale: WebScale = WEB_FULL,
    chromium: str | None = None,
    peer: WebPeer | None = None,
    openapps: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> WebReport:
    """Measure the pages of a world.

    Args:
        env_id: The world; it must have the surface of pages.
        scale: The size of the run.
        chromium: The path of Chromium; without it, neither Chromium nor the peers are measured.
        peer: The location of BrowserGym; without it, BrowserGym is not measured.
        openapps: The path of an interpreter that has OpenApps; without it, OpenApps is not measured.
        progress: Receives the name of each part when it is done.

    Raises:
        CapabilityError: the world has no pages.
        InfrastructureError: a peer's program failed.
    """
    watch = Stopwatch()
    missing: list[str] = []
    env = _make_env(env_id)
    tasks = [task for split in env.task_set.splits for task in env.task_set.ids(split)]
    chosen = tasks[:: max(1, len(tasks) // scale.tasks)][: scale.tasks]
    watch.quietest(lambda one: _measure_in_process(env, chosen, one), _RUNS)
    progress("in process")
    megabytes = None
    if chromium is None:
        missing.append("Chromium: there is none on the search path; give its path with --chromium")
    else:
        megabytes = _measure_chromium(env, chosen[: scale.browsed], chromium, watch)
    progress("Chromium")
    if peer is None or chromium is None:
        missing.append("BrowserGym: give an interpreter that has browsergym-miniwob with --browsergym")
    else:
        for delay, step in (("0", PEER_STEP), ("usual", PEER_USUAL)):
            taken = _run_peer(
                "BrowserGym",
                [str(peer.python), "-P", browsergym_program.__file__],
                [chromium, str(peer.pages), str(scale.peer_episodes), delay],
                install="browsergym-miniwob under the interpreter that --browsergym names",
            )
            for nanoseconds in taken["step"]:
                watch.add(step, nanoseconds)
            for nanoseconds in taken["reset"] if delay == "0" else ():
                watch.add(PEER_RESET, nanoseconds)
    progress("BrowserGym")
    if openapps is None or chromium is None:
        missing.append("OpenApps: give an interpreter that has open_apps with --openapps")
    else:
        taken = _run_peer(
            "OpenApps",
            [str(openapps), "-P", openapps_program.__file__],
            [chromium, str(scale.peer_episodes)],
            install="open_apps under the interpreter that --openapps names",
        )
        for name, key in ((OPENAPPS_RESET, "reset"), (OPENAPPS_ROWS, "rows"), (OPENAPPS_STEP, "step")):
            for nanoseconds in taken[key]:
                watch.add(name, nanoseconds)
    progress("OpenApps")
    return WebReport(timings=watch.timings(), megabytes=megabytes, missing=tuple(missing))


def _make_env(env_id: str) -> ToolEnv:
    env = gym.make(env_id, surface="pages").unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    return env


def _measure_in_process(env: ToolEnv, tasks: list[str], watch: Stopwatch) -> None:
    for task in tasks:
        env.reset(seed=0, options={"task": task})  # the first reset makes the task and its world
        watch.time(RESET, env.reset, seed=0, options={"task": task})
        for call in env.oracle():
            watch.time(STEP, env.step, {"tool": call.tool, "arguments": dict(call.arguments)})
            watch.time(FORK, env.fork)


def _measure_chromium(env: ToolEnv, tasks: list[str], program: str, watch: Stopwatch) -> float:
    from palaestra.envs.surfaces.pages.chromium import Chromium  # noqa: PLC0415  needs the extra `web`

    with Chromium(program) as chromium:
        env.reset(seed=0, options={"task": tasks[0]})
        with chromium.open(env) as pages:
            for task in tasks:
                start = perf_counter_ns()
                env.reset(seed=0, options={"task": task})
                pages.begin_again()
                watch.add(CHROMIUM_RESET, perf_counter_ns() - start)
                for call in env.oracle():
                    if call.tool not in env.world.toolbox:  # talking and ending are not actions on pages
                        watch.time(CHROMIUM_STEP, pages.act, call)
                    else:
                        env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        with chromium.open(env):
            before = chromium.memory()
            others = [chromium.open(env) for _ in range(_CONTEXTS)]
            after = chromium.memory()
            for pages in others:
                pages.close()
    return (after - before) / _CONTEXTS / 2**20


def _run_peer(name: str, program: list[str], arguments: list[str], *, install: str) -> dict[str, list[int]]:
    command = [*program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PEER_TIMEOUT, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise InfrastructureError(f"{name} failed with status {done.returncode}: {said[:300]}; install {install}")
    taken: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return taken


def web_tables(report: WebReport) -> list[Table]:
    """The tables of figures beside their targets, and of ratios to the peers."""
    rows = [
        (
            timing.name,
            _time(timing.mean),
            _time(timing.p50),
            _time(timing.p99),
            f"{timing.count:,}",
            *_judge(timing),
        )
        for timing in report.timings
    ]
    tables = [
        Table(
            title="Pages: time of one call",
            columns=("what", "mean", "median", "99th percentile", "calls", "aim", "met"),
            rows=tuple(rows),
            note=" ".join([METHOD, "Aims are means, of forks medians.", *report.missing]),
        )
    ]
    if report.megabytes is not None:
        tables.append(
            Table(
                title="Chromium: memory of each further context",
                columns=("MB", "aim", "met"),
                rows=(
                    (
                        f"{report.megabytes:.0f}",
                        f"{MOST_MEGABYTES:.0f}",
                        "yes" if report.megabytes <= MOST_MEGABYTES else "no",
                    ),
                ),
                note="What all of Chromium's processes have written; shared pages are counted in parts.",
            )
        )
    ratios = [
        (f"{peer} / {own}", f"{above / below:,.0f}")
        for own, peer in (
            (RESET, PEER_RESET),
            (STEP, PEER_STEP),
            (CHROMIUM_RESET, PEER_RESET),
            (CHROMIUM_STEP, PEER_STEP),
            (RESET, OPENAPPS_RESET),
            (STEP, OPENAPPS_STEP),
            (CHROMIUM_RESET, OPENAPPS_RESET),
            (CHROMIUM_STEP, OPENAPPS_STEP),
        )
        if (above := report.mean(peer)) is not None and (below := report.mean(own)) is not None
    ]
    if ratios:
        tables.append(
            Table(
                title="Ratios of means, in the same run",
                columns=("ratio", "times"),
                rows=tuple(ratios),
                note="Peers in their fastest mode: no delay before an observation, and steps that do nothing.",
            )
        )
    return tables


def _judge(timing: Timing) -> tuple[str, str]:
    if timing.name not in AIMS:
        return "", ""
    value = timing.p50 if timing.name == FORK else timing.mean
    return _time(AIMS[timing.name]), "yes" if value <= AIMS[timing.name] else "no"


def _time(microseconds: float) -> str:
    return f"{microseconds:.0f} us" if microseconds < 1_000 else f"{microseconds / 1_000:,.1f} ms"
