"""Checks that Chromium and the in-process renderer agree: oracles and random actions, played in both.

An item is an oracle's episode or a run of random actions, in one world with one look. Its result is one line of a log,
so an interrupted comparison resumes with the missing items.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import orjson
from pydantic import TypeAdapter

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.addresses import read_address, write_address
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.disturbances import KINDS
from palaestra.envs.surfaces.pages.generated import DO, REVIEW
from palaestra.envs.surfaces.pages.variation import FAMILIES
from palaestra.log import Log, read_log
from palaestra.record import record
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.envs.surfaces.pages.chromium import Chromium, PageStep

RUN = 200
"""Number of random actions of a run, all in one episode."""
MOST_TOLD = 20
"""Maximum number of differences of an item that are kept."""
ROUTE_EVERY, MOVE_EVERY = 8, 20
"""One in `ROUTE_EVERY` random actions opens a route of the site; one in `MOVE_EVERY` is a move of the browser."""
LOOKS: Sequence[tuple[str, str]] = (
    ("", ""),
    *((family, "") for family in FAMILIES),
    *((str(seed), kind) for seed, kind in enumerate(KINDS)),
)
"""Pairs of a variation (a family or a seed) and a kind of disturbance; empty for none."""
_PERCENT = 20
"""Percentage of page openings with a disturbance, where the look has one."""


@record
class ParityItem:
    """The unit of the comparison: an oracle, or random actions in a task's world."""

    env_id: str
    task: str
    run: int | None = None
    """The number of a run of random actions; `None` for the oracle."""
    variation: str = ""
    """A family of variations, or a seed; empty for the original site."""
    disturbance: str = ""
    """A kind of disturbance; empty for none."""

    @property
    def look(self) -> str:
        """The variation and the disturbance in words."""
        variation = f"seed {self.variation}" if self.variation.isdigit() else self.variation
        return (
            " and ".join(filter(None, (variation, self.disturbance and f"{self.disturbance} disturbance"))) or "plain"
        )

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings of the surface."""
        settings: dict[str, Any] = {}
        if self.variation:
            settings["variation"] = int(self.variation) if self.variation.isdigit() else self.variation
        if self.disturbance:
            settings["disturbances"] = {"percent": _PERCENT, "seed": self.run or 0, "kinds": [self.disturbance]}
        return settings or None


@record
class ParityResult:
    """The result of an item."""

    item: ParityItem
    steps: Mapping[str, int]
    """Number of steps by route and action, such as "/orders/* click"."""
    equal: Mapping[str, int]
    """Number of these steps that were equal in both renderers."""
    differences: tuple[str, ...]
    """Descriptions of the differences."""


_RESULT = TypeAdapter(ParityResult)


def parity_items(envs: Sequence[ToolEnv], *, random_actions: int) -> list[ParityItem]:
    """Runs of random actions, cycling through worlds and looks, and the first task of each family in each split."""
    tasks = {env.env_id: _first_tasks(env) for env in envs}
    items: list[ParityItem] = []
    for run in range(-(-random_actions // RUN)):
        env, place = envs[run % len(envs)], run // len(envs)
        own = tasks[env.env_id]
        variation, disturbance = LOOKS[place % len(LOOKS)]
        items.append(
            ParityItem(
                env_id=env.env_id,
                task=own[place * 7 % len(own)],
                run=run,
                variation=variation,
                disturbance=disturbance,
            )
        )
    oracles = ([ParityItem(env_id=env.env_id, task=task) for task in tasks[env.env_id]] for env in envs)
    return [*items, *(item for several in zip_longest(*oracles) for item in several if item is not None)]


def _first_tasks(env: ToolEnv) -> list[str]:
    """The first task of each family in each split."""
    tasks: dict[tuple[str, str], str] = {}
    for split in env.task_set.splits:
        for task in env.task_set.ids(split):
            tasks.setdefault((split, task.rpartition("/")[0]), task)
    return sorted(set(tasks.values()))


def measure_parity(
    items: Iterable[ParityItem],
    *,
    program: str,
    log: Path,
    step: Callable[[str], None] = lambda _: None,
) -> list[ParityResult]:
    """Play the items that the log lacks, and return the results of all items.

    Args:
        items: The items; their worlds must have the surface of pages.
        program: The path of Chromium.
        log: The file of results, one per line.
        step: Receives the name of each finished item.

    Raises:
        CapabilityError: a world has no pages.
        InfrastructureError: Chromium failed; earlier results are in the log.
        RecordError: the log cannot be read.
    """
    from palaestra.envs.surfaces.pages.chromium import Chromium  # noqa: PLC0415  needs the extra `web`

    found = {one.item: one for one in map(_RESULT.validate_json, read_log(log) if log.exists() else ())}
    wanted = list(items)
    lacking = [item for item in wanted if item not in found]
    for item in wanted:
        if item in found:
            step(item.task)
    if not lacking:
        return [found[item] for item in wanted]
    with Log(log) as results, Chromium(program) as chromium:
        for item in lacking:
            found[item] = _play(_begin(item), chromium, item)
            results.append(orjson.dumps(found[item]))
            results.sync()
            step(item.task)
    return [found[item] for item in wanted]


def _begin(item: ParityItem) -> ToolEnv:
    env = gym.make(item.env_id, surface="pages", max_turns=10 * RUN, surface_settings=item.settings).unwrapped
    assert isinstance(env, ToolEnv), f"{item.env_id} is Palaestra's own"
    env.reset(seed=item.run or 0, options={"task": item.task})
    return env


def _play(env: ToolEnv, chromium: "Chromium", item: ParityItem) -> ParityResult:
    steps: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    differences: list[str] = []
    with chromium.open(env) as pages:
        for call in env.oracle() if item.run is None else _random_actions(env, item.run):
            if call.tool in env.world.toolbox:  # talking and ending are not actions on pages
                env.step({"tool": call.tool, "arguments": dict(call.arguments)})
                pages.refresh()  # the ticket's page shows the message
                continue
            kind = f"{_route(env)} {call.tool}"
            came = pages.act(call)
            steps[kind] += 1
            equal[kind] += came.equal
            if not came.equal:
                differences.append(f"{kind}: {_describe(came)}")
        differences += [f"asked for {url}" for url in pages.denied]
    return ParityResult(item=item, steps=dict(steps), equal=dict(equal), differences=tuple(differences[:MOST_TOLD]))


def _random_actions(env: ToolEnv, run: int) -> Iterator[ToolCall]:
    """Random actions on elements of the current page, mixed with routes of the site in turn and with browser moves."""
    stream, routes = Stream.root("parity", run), list_routes(env)
    for number in range(RUN):
        draw = stream.split(number)
        if number % ROUTE_EVERY == 0:
            url = routes[(number // ROUTE_EVERY + run * (RUN // ROUTE_EVERY)) % len(routes)]
            yield ToolCall(tool="goto", arguments={"url": url})
        elif number % MOVE_EVERY == 1:
            yield draw.choice(_MOVES)
        else:
            yield _browser(env).draw_action(env.episode.state, env.table_ids, draw)


_MOVES = tuple(
    ToolCall(tool=tool, arguments=arguments)
    for tool, arguments in (
        ("forward", {}),
        ("back", {}),
        ("tab_new", {}),
        ("tab_close", {}),
        ("tab_focus", {"number": 2}),
        ("scroll", {"direction": "down"}),
        ("scroll", {"direction": "up"}),
        ("noop", {}),
        ("press", {"element": "nav.home", "key": "Enter"}),
        ("press", {"element": "filter.search", "key": "Enter"}),
        ("clear", {"element": "filter.search"}),
        ("click", {"element": "nav.gone"}),
        ("goto", {"url": "/gone"}),
    )
)


def list_routes(env: ToolEnv) -> list[str]:
    """An address of every route of an episode's site: home, each table, a row of each, each form and its review."""
    found = ["/"]
    for info in env.world.schema:
        keys = env.table_ids(info.name)
        found += [write_address(info.name), *(write_address(info.name, key) for key in keys[len(keys) // 2 :][:1])]
    site = _browser(env).site
    for action in site.actions:
        found.append(write_address(DO, action))
        if len(pages := site.form_pages(action)) > 1 and not pages[-1].fields:
            found.append(write_address(DO, action, REVIEW))
    return found


def _describe(step: "PageStep") -> str:
    """Describe the differences of a step."""
    sends = "" if step.sent == step.expected else f": sent {step.sent!r}, expected {step.expected!r}"
    pairs = zip_longest(step.shown, step.drawn)
    other = next((f": shows {shown}, expected {drawn}" for shown, drawn in pairs if shown != drawn), "")
    return f"{step.call.tool} {dict(step.call.arguments)!s:.200}{sends:.400}{other:.600}"


def _browser(env: ToolEnv) -> PageBrowser:
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser), "it was made with pages"
    return browser


def _route(env: ToolEnv) -> str:
    """The route of the current page: its address without the query, with a star for an id."""
    path = read_address(_browser(env).session.tab.url).path
    if path[:1] != (DO,):
        path = (*path[:1], *("*" for _ in path[1:]))
    return "/" + "/".join(path)


def _kind(route: str) -> str:
    """The kind of page of a route."""
    match route.strip("/").split("/"):
        case [""]:
            return "home"
        case [step, _, last] if step == DO:
            return "review" if last == REVIEW else "form"
        case [step, *_] if step == DO:
            return "form"
        case [_]:
            return "list"
        case _:
            return "row"


def parity_tables(results: Sequence[ParityResult]) -> list[Table]:
    """The tables of equal steps: by page and action, by world and look, and by world and route."""
    oracles = sum(result.item.run is None for result in results)
    note = (
        f"{oracles} oracles and {len(results) - oracles} runs of {RUN} random actions. Equal: Chromium sends what the "
        "session says, and shows the same elements (role, name, value, state, id) afterwards."
    )
    named = "Steps that are equal in Chromium and in process, by"
    return [
        _count(f"{named} page and action", ("page", "action"), results, _page_and_action, note),
        _count(f"{named} world and look", ("world", "look"), results, lambda item, _: (_world(item), item.look)),
        _count(
            f"{named} world and route", ("world", "route"), results, lambda item, kind: (_world(item), _split(kind)[0])
        ),
    ]


def _split(kind: str) -> tuple[str, str]:
    route, _, action = kind.rpartition(" ")
    return route, action


def _page_and_action(item: ParityItem, kind: str) -> tuple[str, str]:
    del item
    route, action = _split(kind)
    return _kind(route), action


def _world(item: ParityItem) -> str:
    return item.env_id.rpartition("/")[2]


def _count(
    title: str,
    names: tuple[str, str],
    results: Sequence[ParityResult],
    key: Callable[[ParityItem, str], tuple[str, str]],
    note: str = "",
) -> Table:
    steps: Counter[tuple[str, str]] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    for result in results:
        for kind, count in result.steps.items():
            steps[key(result.item, kind)] += count
            equal[key(result.item, kind)] += result.equal.get(kind, 0)
    rows = [
        (*place, f"{count:,}", f"{equal[place]:,}", f"{100 * equal[place] / count:.2f}")
        for place, count in sorted(steps.items())
    ]
    total, alike = sum(steps.values()), sum(equal.values())
    rows.append(("all", "", f"{total:,}", f"{alike:,}", f"{100 * alike / total:.2f}" if total else ""))
    return Table(title=title, columns=(*names, "steps", "equal", "%"), rows=tuple(rows), note=note)
