"""The page of an episode with its turns: messages, calls, answers, rewards and criteria."""

from collections.abc import Iterator, Sequence

import orjson

from palaestra.benchmarks.dashboard.line_chart import line_chart
from palaestra.benchmarks.dashboard.markup import (
    Html,
    address,
    badge,
    block,
    element,
    facts,
    isolate,
    join,
    link,
    table,
)
from palaestra.benchmarks.dashboard.search_page import outcome_words
from palaestra.benchmarks.record import EpisodeSummary
from palaestra.records import CriterionSpec, Message, ToolEvent, Verdict
from palaestra.table import Table
from palaestra.trajectory import Episode, Turn

MOST_TURNS = 200
"""Maximum number of turns on a page; the JSON holds all."""


def episode_content(summary: EpisodeSummary, episode: Episode | None) -> list[Html]:
    """The content of the page; `episode` is `None` where only the outcome was kept."""
    parts = [_head(summary, episode)]
    if episode is None:
        words = "Only the outcome of this episode was kept: an evaluation keeps the turns of each task's first sample."
        return [*parts, element("p", words, class_="lead")]
    parts += [element("h2", "Criteria"), _criteria(episode)]
    parts += [element("h2", "Opening"), _opening(episode), element("h2", "Turns"), *_turns(episode)]
    return parts


def _head(summary: EpisodeSummary, episode: Episode | None) -> Html:
    kind = "passed" if summary.solved else "failed"
    if summary.points is None:
        kind = "warn"
    shown = facts(
        [
            ("Outcome", badge(outcome_words(summary), kind)),
            ("Points of 100", "" if summary.points is None else str(summary.points)),
            ("End", (summary.end or "").replace("_", " ")),
            ("Turns", str(summary.turns)),
            ("Family", summary.family),
            ("Split", summary.split),
            ("Agent", summary.agent),
            ("Seed", "" if episode is None else str(episode.seed)),
            ("Cell", summary.cell),
            ("Sample", "" if summary.sample is None else str(summary.sample)),
            ("Stage", summary.stage),
            ("Step", "" if summary.step is None else str(summary.step)),
            ("Run", link(isolate(summary.run), address(f"/runs/{summary.run_id}"))),
        ]
    )
    if episode is None:
        return shown
    own = link("JSON of the episode", address(f"/episodes/{summary.id}/json"), download=True)
    points = [(number, total) for number, total in enumerate(_totals(episode), 1)]
    chart = element("div", line_chart(points, title="Reward so far", unit="turn"), class_="charts") if points else ""
    return join([shown, element("p", own, class_="note"), chart])


def _totals(episode: Episode) -> Iterator[float]:
    total = 0.0
    for turn in episode.turns:
        total += turn.reward
        yield total


def _criteria(episode: Episode) -> Html:
    rubric = {criterion.id: criterion for criterion in episode.rubric}
    verdicts = episode.score.verdicts
    names = dict.fromkeys([*rubric, *verdicts])
    rows = tuple(_criterion(rubric.get(name), name, verdicts.get(name)) for name in names)
    columns: tuple[str, ...] = ("criterion", "verdict", "points", "weight", "what it is about", "reason")
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], tuple(row[:-1] for row in rows)
    title = f"{episode.score.points} of {episode.score.total} points"
    note = "Points are what a criterion gave or took: its weight where it is met or violated, and 0 where it is not."
    return table(Table(title=title, columns=columns, rows=rows, note=note))


def _criterion(spec: CriterionSpec | None, name: str, verdict: Verdict | None) -> tuple[str, ...]:
    forbids = spec is not None and spec.kind == "forbid"
    if verdict is None:
        state = badge("not judged", "info")
    elif forbids:
        state = badge("violated", "failed") if verdict.met else badge("not violated", "info")
    else:
        state = badge("met", "passed") if verdict.met else badge("not met", "failed")
    weight = None if spec is None else -spec.points if forbids else spec.points
    points = "-" if weight is None or verdict is None else f"{weight:+d}" if verdict.met else "0"
    reason = (
        "" if verdict is None or verdict.reason in ("met", "not met", "violated", "not violated") else verdict.reason
    )
    return name, state, points, "-" if weight is None else f"{weight:+d}", "" if spec is None else spec.text, reason


def _opening(episode: Episode) -> Html:
    prompt = next((segment.prompt for segment in episode.segments), ())
    tools = "\n\n".join(orjson.dumps(tool, option=orjson.OPT_INDENT_2).decode() for tool in episode.tools)
    listed = element("details", element("summary", f"{len(episode.tools)} tools"), block(tools, label="tools"))
    return join([*_messages(prompt, level=3), *([listed] if episode.tools else [])])


def _messages(messages: Sequence[Message], *, level: int) -> Iterator[Html]:
    for message in messages:
        name = " ".join(filter(None, (message["role"], message.get("name"))))
        yield element(f"h{level}", isolate(name), class_="role")
        yield block(message["content"], label=name)


def _turns(episode: Episode) -> Iterator[Html]:
    former: frozenset[str] = frozenset()
    turns = [*episode.turns]
    for number, turn in enumerate(turns[:MOST_TURNS], 1):
        yield _turn(number, turn, former)
        former = frozenset((*turn.met, *turn.violated))
    if len(turns) > MOST_TURNS:
        yield element("p", f"{len(turns) - MOST_TURNS:,} more turns; the JSON of the episode holds all.", class_="note")


def _turn(number: int, turn: Turn, former: frozenset[str]) -> Html:
    gain = f"{turn.reward:+g} reward" if turn.reward else "no reward"
    kind = "good" if turn.reward > 0 else "bad" if turn.reward < 0 else ""
    layers = ", ".join(f"{layer} {points:+d}" for layer, points in turn.components.items() if points)
    head = element(
        "h3", f"Turn {number}", element("span", gain + (f" ({layers})" if layers else ""), class_=f"gain {kind}")
    )
    parts = [head]
    if turn.text is not None:
        parts += [element("h4", "Agent"), block(turn.text, label=f"what the agent wrote in turn {number}")]
    for call in turn.calls:
        arguments = orjson.dumps(dict(call.arguments), option=orjson.OPT_INDENT_2).decode()
        parts += [element("h4", "Call ", isolate(call.tool)), block(arguments, label=f"arguments of {call.tool}")]
    parts += _events(turn.events)
    parts += _messages(turn.observation, level=4)
    news = [badge(name, "passed") for name in turn.met if name not in former]
    news += [badge(f"violated: {name}", "failed") for name in turn.violated if name not in former]
    if news:
        parts.append(element("p", join(news, " "), class_="steps"))
    if turn.changes:
        changes = "\n".join(orjson.dumps(change).decode() for change in turn.changes)
        count = f"{len(turn.changes)} change{'' if len(turn.changes) == 1 else 's'} of rows"
        parts.append(element("details", element("summary", count), block(changes, label="changes of rows")))
    return element("section", join(parts), class_="turn", aria_label=f"Turn {number}")


def _events(events: Sequence[ToolEvent]) -> Iterator[Html]:
    for event in events:
        if event.error is not None:
            yield element("p", badge(f"{event.tool} refused: {event.error}", "warn"), class_="steps")
