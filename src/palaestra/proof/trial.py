"""Plays variants of the oracle's work, each from the step at which it departs, by restoring the environment there."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from palaestra.digest import canonical
from palaestra.envs import Snapshot, ToolEnv
from palaestra.envs.reading import MOST_CALLS
from palaestra.proof.directory import IdDirectory
from palaestra.records import EndReason, JsonObject, Message, RowChange, Score, ToolCall, ToolEvent
from palaestra.rubrics import WORLD
from palaestra.steps import StepRecord
from palaestra.tools import Tool, finish, give_up

Turn: TypeAlias = Sequence[ToolCall]
# Any: the answers, a tuple of messages; plain iterators, from which a script may yield, are typed as taking none.
AttackScript: TypeAlias = Generator[Turn, Any, None]
"""Work that depends on answers: it yields turns and receives their answers."""

ENDINGS = frozenset({finish.name, give_up.name})
"""The tools that end an episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedTurn:
    """One turn and its effects."""

    events: tuple[ToolEvent, ...]
    changes: tuple[RowChange, ...]
    """Its writes, in order."""
    observation: tuple[Message, ...]
    met: frozenset[str]
    """The expectations that count after the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleStep:
    """The effects of one turn of the oracle."""

    call: ToolCall
    event: ToolEvent
    observation: tuple[Message, ...]
    changes: tuple[RowChange, ...]
    met: frozenset[str]
    """The criteria that this turn met first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOutcome:
    """The result of a variant."""

    score: Score
    turns: tuple[PlayedTurn, ...]
    changes: tuple[RowChange, ...]
    """The net difference that it made."""
    counting: frozenset[str]
    """The criteria that count: expectations met, prohibitions violated."""
    answer: JsonObject
    end: EndReason | None
    waited: int
    """Days of waiting."""

    @property
    def events(self) -> tuple[ToolEvent, ...]:
        """One event for every call."""
        return tuple(event for turn in self.turns for event in turn.events if event.tool != WORLD)

    @property
    def passed(self) -> bool:
        """Whether the task is solved by the rubric."""
        return self.score.passed


@dataclass(slots=True, kw_only=True, eq=False)
class _Place:
    """A state that scripts have reached."""

    turn: PlayedTurn
    """The turn that led to the state."""
    over: bool
    """Whether that turn ended the episode."""
    at: Snapshot
    further: "dict[bytes, _Place]" = field(default_factory=dict["bytes", "_Place"])
    """The next states by turn."""


_NO_TURN = PlayedTurn(events=(), changes=(), observation=(), met=frozenset())


class Trial:
    """The oracle's run of one task, and variants that are played from where they depart from it.

    Callers draw calls from the world's own tools, and the trial translates them to the tools of the surface in use. On
    a surface of steps, such as pages, a call takes several steps. There, the trial varies the world's own calls, each
    translated to one turn, so that it varies acts and not clicks.

    Args:
        env: An environment of the task's world; the trial changes its state.
        task_id: The task.

    Attributes:
        instance: The task.
        toolbox: The tools of the surface.
        offered: The tools among them that the agent may call.
        own: The world's own tools.
        own_offered: The world's own tools that the agent may call.
        moves: Tools of a surface of steps that only navigate in it, such as those that fill in a field.
        steps: The oracle's steps.
        outcome: The oracle's outcome.
    """

    def __init__(self, env: ToolEnv, task_id: str) -> None:
        self.env = env
        env.reset(seed=0, options={"task": task_id})
        self.instance = env.instance
        surface = env.played_surface
        self._translate = surface.translate
        self._stepwise = surface.begin is not None
        self.own = env.world.toolbox
        self.own_offered = tuple(self.own.tools_for(env.world.role))
        names = {tool.name for tool in env.toolbox} if self._stepwise else set[str]()
        self.moves = frozenset(names.difference(tool.name for tool in self.own))
        self.toolbox = self.own if self._stepwise else env.toolbox
        self.offered = tuple(self.toolbox.tools_for(env.world.role))
        self._at: list[Snapshot] = [env.snapshot()]
        self.steps: list[OracleStep] = []
        self._played: list[PlayedTurn] = []
        self._varied: dict[str, TrialOutcome] = {}
        self._after: dict[tuple[int, str], tuple[RowChange, ...]] = {}
        self._said: dict[bytes, tuple[ToolCall, ...]] = {}
        self._stands_at: _Place | None = None
        known: frozenset[str] = frozenset()
        for call in self.instance.oracle if self._stepwise else env.oracle():
            record = self._step([call])
            done, over = _of_record(record), record.end is not None
            self._played.append(done)
            self.steps.append(
                OracleStep(
                    call=call,
                    event=_event_of(call, done.events) if self._stepwise else done.events[0],
                    observation=done.observation,
                    changes=done.changes,
                    met=done.met - known,
                )
            )
            known = done.met
            self._at.append(env.snapshot())
            if over:
                break
        self.outcome = self._outcome(self._played.copy())

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The oracle's calls, as far as they ran."""
        return tuple(step.call for step in self.steps)

    @cached_property
    def directory(self) -> IdDirectory:
        """The ids of the task's rows at its beginning."""
        return IdDirectory(self.instance.world, self.instance.initial_state)

    def writes(self, step: OracleStep) -> bool:
        """Whether a call of the oracle changes rows; a tool that can do so may be called only for its answer."""
        return bool(step.changes)

    def play(self, turns: Iterable[Turn], *, start: int = 0) -> TrialOutcome:
        """Play `turns` from the state before the oracle's call `start`."""
        self._restore(start)
        played = self._played[:start]
        for turn in turns:
            done, over = self._turn(turn)
            played.append(done)
            if over:
                break
        return self._outcome(played)

    def without(self, position: int) -> TrialOutcome:
        """The oracle's work with one call left out."""
        return self.vary([(call,) for call in (*self.calls[:position], *self.calls[position + 1 :])])

    @cached_property
    def alternatives(self) -> tuple[TrialOutcome, ...]:
        """The outcome of each of the author's alternatives."""
        return tuple(self.vary([(call,) for call in calls]) for calls in self.instance.alternatives)

    def vary(self, turns: Sequence[Turn]) -> TrialOutcome:
        """Play `turns`; neither the part that equals the oracle's beginning nor equal turns are played again."""
        key = repr([tuple(turn) for turn in turns])
        if key not in self._varied:
            self._varied[key] = self._play_from_departure(turns)
        return self._varied[key]

    def _play_from_departure(self, turns: Sequence[Turn]) -> TrialOutcome:
        shared = 0
        for mine, theirs in zip(turns, self.steps, strict=False):
            if tuple(mine) != (theirs.call,):
                break
            shared += 1
        return self.play(turns[shared:], start=shared)

    def drive(self, play: AttackScript, *, most: int) -> TrialOutcome | None:
        """Play a script for at most `most` calls, and finish if it does not.

        Returns:
            The outcome; `None` if the script makes no turn, since it has nothing to try here.
        """
        self._stands_at = None  # another trial may have moved the environment since
        place, played = self._beginning, list[PlayedTurn]()
        left = most
        try:
            turn = next(play)
            while left > 0:
                turn = list(turn) if self._stepwise else [said for call in turn for said in self.said(call)]
                turn = turn[:left]
                left -= len(turn)
                place = self._go_on(place, turn)
                played.append(place.turn)
                if place.over:
                    return self._outcome_at(place, played)
                turn = play.send(place.turn.observation)
        except StopIteration:
            if not played:
                return None
        place = self._go_on(place, [ToolCall(tool=finish.name, arguments={})])
        return self._outcome_at(place, [*played, place.turn])

    @cached_property
    def _beginning(self) -> "_Place":
        return _Place(turn=_NO_TURN, over=False, at=self._at[0])

    def _go_on(self, place: "_Place", turn: Turn) -> "_Place":
        """The next state after a turn. Scripts with a common beginning share it: it is played once."""
        key = canonical([(call.tool, call.arguments) for call in turn])
        if key not in place.further:
            if self._stands_at is not place:
                self.env.restore(place.at)
            done, over = self._turn(turn)
            place.further[key] = _Place(turn=done, over=over, at=self.env.snapshot())
            self._stands_at = place.further[key]
        return place.further[key]

    def _outcome_at(self, place: "_Place", played: list[PlayedTurn]) -> TrialOutcome:
        if self._stands_at is not place:
            self.env.restore(place.at)
            self._stands_at = place
        return self._outcome(played)

    def said(self, call: ToolCall) -> tuple[ToolCall, ...]:
        """Translate a call of the world's own tools to those of the surface; other calls stay unchanged."""
        if call.tool in self.env.toolbox or call.tool not in self.own or not self.own[call.tool].fits(call.arguments):
            return (call,)
        key = canonical((call.tool, call.arguments))
        if key not in self._said:
            self._said[key] = self._translate([call], self.instance.initial_state)
        return self._said[key]

    def tool(self, name: str) -> Tool:
        """The tool with that name, from the surface or the world's own."""
        return self.toolbox[name] if name in self.toolbox else self.own[name]

    def after(self, call: ToolCall, *, start: int) -> tuple[RowChange, ...]:
        """The net difference after the oracle's calls before `start` and then `call`."""
        key = (start, repr(call))
        if key not in self._after:
            self._restore(start)
            self._step([call] if self._stepwise else self.said(call))
            self._after[key] = self.env.changes
        return self._after[key]

    def probe(self, calls: Turn) -> list[frozenset[str]]:
        """The ids that each look-up mentions, if all are made in one turn after the oracle's work."""
        self._restore(len(self.steps) - 1)
        if self._stepwise:
            return [_list_mentioned(self._step([call]).events) for call in calls]
        said = [self.said(call) for call in calls]
        turn = [call for part in said for call in part]
        if not turn:
            return []
        events = iter(self._step(turn).events)
        return [frozenset(key for _ in part for key in next(events).mentioned) for part in said]

    def _restore(self, start: int) -> None:
        """Restore the state before the oracle's call `start`."""
        self.env.restore(self._at[start])
        self._stands_at = None

    def _turn(self, turn: Turn) -> tuple[PlayedTurn, bool]:
        if self._stepwise or not 0 < len(turn) <= MOST_CALLS:
            record = self._step(turn)
            return _of_record(record), record.end is not None
        # Like `ToolEnv.step`, without the hashes and copies of its record, which would take a fifth of the time.
        episode = self.env.episode
        evidence = episode.evidence
        first, written = len(evidence.events), len(episode.state.journal)
        episode.begin_turn()
        episode.close_turn(tuple(episode.run(tuple(turn))), readable=True)
        done = PlayedTurn(
            events=tuple(evidence.events[first:]),
            changes=tuple(episode.state.journal[written:]),
            observation=episode.observation,
            met=frozenset(episode.checklist.standing().met),
        )
        return done, evidence.end is not None

    def _step(self, turn: Turn) -> StepRecord:
        said = [said for call in turn for said in self.said(call)] if self._stepwise else turn
        record: StepRecord = self.env.step(as_turn(said))[4]["record"]
        return record

    def _outcome(self, turns: list[PlayedTurn]) -> TrialOutcome:
        return TrialOutcome(
            # Work that does not end is judged as if a budget had ended it.
            score=self.env.score(EndReason.MAX_TURNS),
            turns=tuple(turns),
            changes=self.env.changes,
            counting=frozenset(self.env.counting),
            answer=dict(self.env.episode.evidence.answer),
            end=self.env.end,
            waited=self.env.episode.clock.days_waited,
        )


def _of_record(record: StepRecord) -> PlayedTurn:
    return PlayedTurn(
        events=record.events,
        changes=record.changes,
        observation=record.messages,
        met=frozenset(record.standing.met),
    )


def as_turn(calls: Turn) -> list[dict[str, object]]:
    """Calls as an action of the environment."""
    return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in calls]


def _list_mentioned(events: Sequence[ToolEvent]) -> frozenset[str]:
    return frozenset(key for event in events for key in event.mentioned)


def _event_of(call: ToolCall, events: Sequence[ToolEvent]) -> ToolEvent:
    """One event instead of those of the steps that a call took, with everything that they showed."""
    own = next((event for event in events if event.tool == call.tool), events[-1])
    return replace(
        own,
        tool=call.tool,
        arguments=call.arguments,
        shown=tuple(dict.fromkeys(pair for event in events for pair in event.shown)),
        mentioned=_list_mentioned(events),
    )
