"""Whether Chromium and the renderer in process agree: oracles and random actions, played in both.

An item is an oracle's episode or a run of random actions. What came of it is a line of a log, so a comparison that was
interrupted goes on with the items that are missing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import read_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.generated import DO
from palaestra.log import Log, read_log
from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.envs.surfaces.pages.chromium import Chromium, PageStep

RUN = 200
"""Random actions of one run, all in one episode."""
MOST_TOLD = 20
"""The most differences of an item that are kept."""


@record
class ParityItem:
    """What is played: an oracle, or random actions in a task's world."""

    task: str
    run: int | None = None
    """The number of a run of random actions; `None` for the oracle."""


@record
class ParityResult:
    """What came of an item."""

    item: ParityItem
    steps: Mapping[str, int]
    """By page and action, such as "list click": how many there were."""
    equal: Mapping[str, int]
    """How many of them were equal in both."""
    differences: tuple[str, ...]
    """What differed, in words."""


_RESULT = TypeAdapter(ParityResult)


def parity_items(env: ToolEnv, *, random_actions: int) -> list[ParityItem]:
    """The first task of each family in each split, and runs of random actions in their worlds."""
    tasks: dict[tuple[str, str], str] = {}
    for split in env.task_set.splits:
        for task in env.task_set.ids(split):
            tasks.setdefault((split, task.rpartition("/")[0]), task)
    oracles = sorted(set(tasks.values()))
    runs = [ParityItem(task=oracles[run % len(oracles)], run=run) for run in range(-(-random_actions // RUN))]
    return [*(ParityItem(task=task) for task in oracles), *runs]


def measure_parity(
    env_id: str,
    items: Iterable[ParityItem],
    *,
    program: str,
    log: Path,
    step: Callable[[str], None] = lambda _: None,
) -> list[ParityResult]:
    """Play the items that the log lacks, and give what came of all of them.

    Args:
        env_id: The world; it has the surface of pages.
        items: What is played.
        program: The path of Chromium.
        log: A file of results, a line each.
        step: Told the name of each item that is done.

    Raises:
        CapabilityError: the world has no pages.
        RecordError: the log cannot be read.
    """
    from palaestra.envs.surfaces.pages.chromium import Chromium  # noqa: PLC0415  needs the extra `web`

    found = {one.item: one for one in map(_RESULT.validate_json, read_log(log) if log.exists() else ())}
    made = gym.make(env_id, surface="pages", max_turns=10 * RUN)
    env = made.unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is Palaestra's own"
    wanted = list(items)
    lacking = [item for item in wanted if item not in found]
    for item in wanted[: len(wanted) - len(lacking)]:
        step(item.task)
    if not lacking:
        return [found[item] for item in wanted]
    with Log(log) as results, Chromium(program) as chromium:
        for item in lacking:
            env.reset(seed=item.run or 0, options={"task": item.task})
            found[item] = _play(env, chromium, item)
            results.append(orjson.dumps(found[item]))
            results.sync()
            step(item.task)
    return [found[item] for item in wanted]


def _play(env: ToolEnv, chromium: "Chromium", item: ParityItem) -> ParityResult:
    steps: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    differences: list[str] = []
    stream = Stream.root("parity", item.run or 0)
    planned = env.oracle() if item.run is None else ()
    with chromium.open(env) as pages:
        for number in range(len(planned) if item.run is None else RUN):
            if item.run is None:
                call = planned[number]
            else:
                call = _browser(env).draw_action(env.episode.state, env.table_ids, stream.split(number))
            if call.tool in env.world.toolbox:  # what talks and ends is no page
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
                continue
            kind = f"{_kind(env)} {call.tool}"
            came = pages.act(call)
            steps[kind] += 1
            equal[kind] += came.equal
            if not came.equal:
                differences.append(_describe(came))
        differences += [f"asked for {url}" for url in pages.denied]
    return ParityResult(item=item, steps=dict(steps), equal=dict(equal), differences=tuple(differences[:MOST_TOLD]))


def _describe(step: "PageStep") -> str:
    """What differs, in words."""
    sends = "" if step.sent == step.expected else f": sent {step.sent!r}, expected {step.expected!r}"
    shows = "" if step.shown == step.drawn else ": shows other elements"
    return f"{step.call.tool} {dict(step.call.arguments)}{sends}{shows}"


def _browser(env: ToolEnv) -> PageBrowser:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser), "it was made with pages"
    return browser


def _kind(env: ToolEnv) -> str:
    """What kind of page is in front."""
    match read_address(_browser(env).session.tab.url).path:
        case ():
            return "home"
        case (step, *_) if step == DO:
            return "form"
        case (_,):
            return "list"
        case _:
            return "row"


def parity_table(results: Sequence[ParityResult]) -> Table:
    """How many steps were equal, by page and action."""
    steps: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for result in results:
        steps.update(result.steps)
        equal.update(result.equal)
    rows = [
        (*kind.split(" "), f"{count:,}", f"{equal[kind]:,}", f"{100 * equal[kind] / count:.2f}")
        for kind, count in sorted(steps.items())
    ]
    total, alike = sum(steps.values()), sum(equal.values())
    rows.append(("all", "", f"{total:,}", f"{alike:,}", f"{100 * alike / total:.2f}" if total else ""))
    oracles = sum(result.item.run is None for result in results)
    return Table(
        title="Steps that are equal in Chromium and in process, by page and action",
        columns=("page", "action", "steps", "equal", "%"),
        rows=tuple((a, b, c, d, e) for a, b, c, d, e in rows),
        note=f"{oracles} oracles and {len(results) - oracles} runs of {RUN} random actions. Equal: Chromium sends what "
        "the session says, and shows the same elements (id, role, name, value) afterwards.",
    )
