"""Random trajectories with tokens: several segments, branching prefixes, turns with parts, episodes around them."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from palaestra.records import CriterionSpec, EndReason, Features, Score, TaskSpec, ToolEvent
from palaestra.trajectory import Episode, Segment, Span, SpanKind, Tokens, Turn

VOCABULARY = 48
ANY_ID = st.integers(0, VOCABULARY - 1)
PARTS: tuple[SpanKind, ...] = ("plan", "switch", "action")


@st.composite
def segment_tokens(draw: st.DrawFn, *, ids: st.SearchStrategy[int] = ANY_ID) -> Tokens:
    """A segment: a prompt, perhaps none, then turns, sampled but for a token here and there, and what answers them."""
    sampled: list[bool] = [False] * draw(st.integers(0, 4))
    spans: list[Span] = []
    for _ in range(draw(st.integers(0, 3))):
        start = len(sampled)
        sampled += draw(st.lists(st.sampled_from([True, True, True, False]), max_size=5))
        spans += [Span(kind="turn", start=start, end=len(sampled)), *draw(_parts(start, len(sampled)))]
        sampled += [False] * draw(st.integers(0, 3))
    if not sampled:
        sampled = [False]
    count = len(sampled)
    return Tokens(
        ids=tuple(draw(st.lists(ids, min_size=count, max_size=count))),
        sampled=tuple(sampled),
        logprobs=tuple(-(place + 1) / 8 if own else 0.0 for place, own in enumerate(sampled)),
        versions=tuple(draw(st.integers(1, 3)) if own else 0 for own in sampled),
        spans=tuple(spans),
        stops=tuple("end" for span in spans if span.kind == "turn"),
    )


@st.composite
def _parts(draw: st.DrawFn, start: int, end: int) -> list[Span]:
    """Parts of a turn: none, or some that need not cover it."""
    bounds = sorted(draw(st.lists(st.integers(start, end), max_size=6)))
    return [
        Span(kind=draw(st.sampled_from(PARTS)), start=low, end=high)
        for low, high in zip(bounds[::2], bounds[1::2], strict=False)
    ]


def sequence(*ids: int, own: int) -> Tokens:
    """Of which the last `own` tokens are trained."""
    sampled = (False,) * (len(ids) - own) + (True,) * own
    marked = (Span(kind="turn", start=len(ids) - own, end=len(ids)),)
    return Tokens(ids=ids, sampled=sampled, logprobs=(0.0,) * len(ids), versions=(0,) * len(ids), spans=marked)


def turn(reward: float) -> Turn:
    """A turn of which nothing matters but what it was paid."""
    return Turn(
        text=None, calls=(), events=(), changes=(), observation=(), reward=reward, components={}, met=(), violated=(),
        state_hash="", anchor="",
    )  # fmt: skip


def event(
    *, tool: str = "look", fits: bool = True, allowed: bool = True, again: bool = False, by_itself: bool = False
) -> ToolEvent:
    """What came of a call: whether it fits its tool, was allowed, and had been made before; or of nobody's."""
    return ToolEvent(
        call_id="world_60" if by_itself else "call_0_0", tool=tool, arguments={}, schema_ok=fits,
        semantic_ok=fits and allowed, executed=fits and allowed, result_digest="",
        error=None if fits and allowed else "refused", cost=0, latency=0, duplicate_of="call_0_0" if again else None,
        named=(), written=0, shown=(), mentioned=frozenset(),
    )  # fmt: skip


def planned(switch: str, subgoal: str) -> str:
    """A turn's text in the planner format."""
    return f"<switch>{switch}</switch><subgoal>{subgoal}</subgoal><action>look</action>"


def expectation(id: str, points: int) -> CriterionSpec:
    """A line of a rubric that is to be met."""
    return CriterionSpec(id=id, text="", kind="expect", points=points, layer="outcome", after=())


TOLD: tuple[Turn, ...] = (
    turn(0.0),
    replace(turn(0.0), text="look", events=(event(),), anchor="a"),
    replace(turn(0.0), text=planned("SWITCH", "look up"), events=(event(), event(again=True)), anchor="b"),
    replace(turn(0.0), text=planned("KEEP", "look up"), events=(event(fits=False),), met=("found",), anchor="a"),
    replace(turn(0.0), text=planned("KEEP", "pay"), events=(event(allowed=False),), met=("found", "paid"), anchor="c"),
    replace(turn(0.0), text=planned("STOP", "pay"), events=(event(by_itself=True),), components={"task": 5}, anchor=""),
)
"""Turns of which objectives are told different things."""
RUBRICS: tuple[Sequence[CriterionSpec], ...] = (
    (),
    (expectation("found", 40), replace(expectation("broken", 30), kind="forbid"), expectation("paid", 60)),
    (expectation("paid", 0),),
    (expectation("found", 50), replace(expectation("paid", 50), after=("found",))),
)


def episode(*segments: Segment, id: str = "", group: str = "") -> Episode:
    """An episode around segments."""
    return Episode(
        env_id="test/Nothing-v0",
        task=TaskSpec(
            id="nothing/none/0000", family="nothing/none", split="train", level=1, traits=(), world_seed=1,
            max_turns=9, unseen=False, oracle_calls=1,
            features=Features(hops=0, entities=0, exceptions=0, writes=0, messages=0),
        ),
        agent="hand", seed=0, tools=(), rubric=(), segments=segments, end=None,
        score=Score(points=0, total=100, passed=False, verdicts={}, components={}), valid_for_baseline=True,
        id=id, group=group,
    )  # fmt: skip


@st.composite
def episodes(draw: st.DrawFn, *, ids: st.SearchStrategy[int] = ANY_ID) -> Episode:
    """An episode of one to three segments; the world may have failed to answer its last turn."""
    drawn = draw(st.lists(segment_tokens(ids=ids), min_size=1, max_size=3))
    segments: list[Segment] = []
    for number, tokens in enumerate(drawn):
        written = sum(span.kind == "turn" for span in tokens.spans)
        answered = written - (draw(st.booleans()) if written and number == len(drawn) - 1 else 0)
        turns = tuple(
            replace(draw(st.sampled_from(TOLD)), reward=draw(st.integers(-8, 8)) / 4) for _ in range(answered)
        )
        segments.append(Segment(prompt=(), turns=turns, tokens=tokens))
    one = episode(*segments, group=draw(st.sampled_from(["", "a", "b"])))
    return replace(
        one,
        rubric=tuple(draw(st.sampled_from(RUBRICS))),
        end=draw(st.sampled_from([None, *EndReason])),
        score=replace(one.score, passed=draw(st.booleans())),
    )


batches = st.lists(episodes(), min_size=1, max_size=5)
"""Episodes that rarely begin alike."""

forests = st.lists(episodes(ids=st.integers(0, 1)), min_size=1, max_size=6)
"""Episodes of two different tokens: they branch everywhere, and some are the beginning of others."""
