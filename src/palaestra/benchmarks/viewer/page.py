"""Renders episodes as one self-contained HTML page: no server, no network, no other file.

The page carries its data as JSON in a script element that browsers never run. Text of an agent or a world cannot close
that element and cannot become markup: all characters that could do so are escaped here, and the scripts insert data
into the document only as text. A content security policy names the page's own script and style by hash, so that nothing
else runs and nothing is loaded. Figures are images within the page, in which browsers run no scripts and load nothing
either.

Not covered: the page shows everything that the episodes hold; a secret in a trajectory is visible on the page.
"""

import html
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from string import Template

import orjson

from palaestra.digest import canonical
from palaestra.records import Message, ToolCall, ToolEvent
from palaestra.table import Table
from palaestra.trajectory import Episode, Segment, Turn

# In JSON these characters occur only in strings, where the escape has the same meaning.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render_page(
    episodes: Sequence[Episode],
    *,
    title: str,
    tables: Sequence[Table] = (),
    figures: Sequence[str] = (),
    lead: Sequence[str] = (),
    findings: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    cells: Sequence[str] = (),
) -> str:
    """Render the page as one HTML string.

    Args:
        episodes: The episodes on the page, in the order of the list.
        title: The heading of the page.
        tables: The tables of the overview, in order.
        figures: SVG documents above the tables of the overview; the title of a figure is its text alternative.
        lead: The first paragraphs of the overview: the subject of the page, and its result.
        findings: A numbered list after the lead, the most important first: each finding with its remedy.
        notes: A list at the end of the overview: caveats for the reader.
        cells: The conditions of each episode, such as "20 % of calls fail", for display and selection; none, or one for
            each episode.

    Returns:
        A complete HTML document, which can be opened from a file.

    Raises:
        ValueError: a row of a table has more or fewer cells than the table has columns, a figure is not SVG, or there
            are cells, but not one for each episode.
    """
    if cells and len(cells) != len(episodes):
        raise ValueError(f"{len(cells)} cells for {len(episodes)} episodes; give one for each, or none")
    for table in tables:
        _check(table)
    style, script = page_colours() + _asset("viewer.css"), _asset("elements.js") + _asset("viewer.js")
    return Template(_asset("page.html")).substitute(
        title=html.escape(title),
        style=style,
        style_hash=_source_hash(style),
        script=script,
        script_hash=_source_hash(script),
        data=_embed(
            {
                "lead": list(lead),
                "findings": [{"sentence": sentence, "remedy": remedy} for sentence, remedy in findings],
                "notes": list(notes),
                "figures": [_figure(svg, number) for number, svg in enumerate(figures, 1)],
                "tables": list(tables),
                **_document(episodes, cells),
            }
        ),
    )


class _Pool:
    """Values that many episodes share; each is stored once and referenced by its index."""

    __slots__ = ("_places", "values")

    def __init__(self) -> None:
        self.values: list[object] = []
        self._places: dict[bytes, int] = {}

    def add(self, value: object) -> int:
        place = self._places.setdefault(canonical(value), len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place


class _Pools:
    """Values that a page stores once: schemas, tasks, rubrics and messages."""

    __slots__ = ("messages", "rubrics", "tasks", "tools")

    def __init__(self) -> None:
        self.tools, self.tasks, self.rubrics, self.messages = _Pool(), _Pool(), _Pool(), _Pool()


def _check(table: Table) -> None:
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(table.columns):
            raise ValueError(
                f"table {table.title!r}, row {number}: {len(row)} cells for {len(table.columns)} columns; "
                "give every row one cell a column"
            )


def page_colours() -> str:
    """The colours of all pages as a style sheet, light and dark."""
    return _asset("colours.css")


def _asset(name: str) -> str:
    return files("palaestra.benchmarks.viewer").joinpath(name).read_text(encoding="utf-8")


def _source_hash(source: str) -> str:
    """The name of an inline script or style in a content security policy."""
    return "sha256-" + b64encode(sha256(source.encode()).digest()).decode()


def _embed(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode().translate(_ESCAPES)


def _document(episodes: Sequence[Episode], cells: Sequence[str]) -> dict[str, object]:
    pools = _Pools()
    records = [_episode(episode, pools) for episode in episodes]
    for record, key, cell in zip(records, _keys(episodes), cells or [""] * len(records), strict=True):
        record["key"] = key
        record["cell"] = cell
    return {
        "tools": pools.tools.values,
        "tasks": pools.tasks.values,
        "rubrics": pools.rubrics.values,
        "messages": pools.messages.values,
        "episodes": records,
    }


def _figure(svg: str, number: int) -> dict[str, str]:
    """The data URL of an image, and its text alternative."""
    if "<svg" not in svg:
        raise ValueError(f"figure {number} is no SVG document, it begins with {svg[:40]!r}; give the text of one")
    title = re.search(r"<title>(.*?)</title>", svg, re.DOTALL)
    words = html.unescape(title[1]).strip() if title else ""
    return {
        "source": f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}",
        "words": words or f"Figure {number}",
    }


def _keys(episodes: Sequence[Episode]) -> list[str]:
    """Keys for the page's address that stay the same in a new rendering; repeats of the same run are numbered."""
    seen: dict[str, int] = {}
    keys: list[str] = []
    for episode in episodes:
        key = f"{episode.task.id}@{episode.agent}:{episode.seed}"
        seen[key] = seen.get(key, 0) + 1
        keys.append(key if seen[key] == 1 else f"{key}~{seen[key]}")
    return keys


def _episode(episode: Episode, pools: _Pools) -> dict[str, object]:
    score = replace(episode.score, verdicts=dict(episode.score.verdicts), components=dict(episode.score.components))
    return {
        "env_id": episode.env_id,
        "task": pools.tasks.add(episode.task),
        "agent": episode.agent,
        "seed": str(episode.seed),  # JavaScript represents integers exactly only up to 2**53
        "tools": [pools.tools.add(tool) for tool in episode.tools],
        "rubric": pools.rubrics.add(episode.rubric),
        "segments": [_segment(segment, pools) for segment in episode.segments],
        "end": episode.end,
        "score": score,
        "valid": episode.valid_for_baseline,
    }


def _segment(segment: Segment, pools: _Pools) -> dict[str, object]:
    return {
        "prompt": _messages(segment.prompt, pools),
        "turns": [_turn(turn, pools) for turn in segment.turns],
    }


def _messages(messages: Sequence[Message], pools: _Pools) -> list[int]:
    return [pools.messages.add(message) for message in messages]


def _turn(turn: Turn, pools: _Pools) -> dict[str, object]:
    return {
        "text": turn.text,
        "calls": [_call(call) for call in turn.calls],
        "events": [_event(event) for event in turn.events],
        "changes": turn.changes,
        "observation": _messages(turn.observation, pools),
        "reward": turn.reward,
        "components": dict(turn.components),
        "met": turn.met,
        "violated": turn.violated,
        "state_hash": turn.state_hash,
    }


def _call(call: ToolCall) -> dict[str, object]:
    return {"tool": call.tool, "arguments": dict(call.arguments)}


def _event(event: ToolEvent) -> dict[str, object]:
    """The fields of an event that people read. Its call holds the arguments; evidence for graders is not shown."""
    return {
        "call_id": event.call_id,
        "schema_ok": event.schema_ok,
        "semantic_ok": event.semantic_ok,
        "executed": event.executed,
        "error": event.error,
        "cost": event.cost,
        "latency": event.latency,
        "duplicate_of": event.duplicate_of,
        "written": event.written,
    }
