"""An episode whose tools a model answers, with the true world beside it and the world that the answers describe.

The agent reads the simulator's answers. Two episodes of code go along:

- `true` runs the same calls in the true world; its rubric gives the true reward.
- `believed` is the task over the rows that the answers show. Where an answer shows a row otherwise than it stands, and
  no call has written it, the row was always so: the task is made again over the corrected rows, with the solution and
  the rubric that follow from them, and the calls so far are played again. Where a written row is shown otherwise, the
  world has changed it. Its rubric gives the reward that a simulation pays.

While every answer is that of the code, both are the same task in the same state, so both scores agree. Where no task
can be made over the rows that the answers show, the simulation contradicts itself and has no reward (`contradiction`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance, make_instance
from palaestra.envs.later import log_world_event
from palaestra.envs.simulation.answer_rows import AnswerRow, put_row
from palaestra.envs.simulation.prompt import ask_for_answer, read_answer
from palaestra.envs.simulation.simulated_toolbox import SimulatedAnswer, SimulatedToolbox
from palaestra.envs.state import Overlay
from palaestra.errors import CapabilityError, EpisodeOverError, PalaestraError, ReplyError
from palaestra.protocols import ChatModel
from palaestra.records import Json, Score, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL

TRIES = 3
"""How often a model is asked for one answer."""
_CONTROL = frozenset(tool.name for tool in CONTROL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTurn:
    """One call and what both worlds answered."""

    call: ToolCall
    answer: SimulatedAnswer | None
    """Of the simulator; `None` for a call that code answers: messages and the end."""
    true_content: str
    """What the true world answered; empty where its episode had ended."""
    moved: tuple[AnswerRow, ...] = ()
    """Written rows that the answer shows otherwise than they stood before the call."""

    @property
    def differs(self) -> bool:
        """Whether the simulator answered otherwise than the true world."""
        return self.answer is not None and (
            not self.true_content or orjson.loads(self.true_content) != self.answer.value
        )


class SimulatedEpisode:
    """A task whose tools are answered by a model.

    Args:
        instance: The task.
        simulator: Who answers.
        seed: Of the simulator's draws.
        tries: How often it is asked for an answer that can be read.

    Raises:
        CapabilityError: the world has tools that stand for several calls.

    Attributes:
        true: The episode in the true world.
        believed: The episode over the rows that the answers describe.
        turns: The calls so far.
        contradiction: Why no task can be made over these rows; empty while one can.
    """

    def __init__(self, instance: Instance, simulator: ChatModel, *, seed: int = 0, tries: int = TRIES) -> None:
        if instance.world.toolbox.composites:
            raise CapabilityError.of(instance.world.name, "simulation", "tools of one call", [])
        self.instance = instance
        self.believed_instance = instance
        self.true = _begin(instance, {})
        self._answers: dict[str, SimulatedAnswer] = {}
        self.believed = _begin(instance, self._answers)
        self.turns: list[SimulatedTurn] = []
        self.contradiction = ""
        self._simulator = simulator
        self._seeds = Stream.root("simulator", instance.spec.id, seed)
        self._tries = tries
        self._corrections: dict[tuple[str, str], AnswerRow] = {}
        self._shown: dict[str, Json] = {}

    @property
    def ended(self) -> bool:
        """Whether the simulated episode is over."""
        return self.believed.evidence.end is not None or bool(self.contradiction)

    def step(self, call: ToolCall) -> str:
        """Run one call; the answer that the agent reads, JSON.

        Raises:
            InfrastructureError: the simulator gave no answer that can be read; the episode is void.
            EpisodeOverError: it is over.
        """
        if self.ended:
            raise EpisodeOverError("step after the end of a simulated episode; begin another one")
        true_content = "" if self.true.evidence.end is not None else _run(self.true, call)
        answer = None if call.tool in _CONTROL else self._ask(call)
        moved: list[AnswerRow] = []
        if answer is not None:
            self._note_shown(answer)
            if answer.error is None and not self._writes(call):
                moved = self._take_in(answer)
        turn = SimulatedTurn(call=call, answer=answer, true_content=true_content, moved=tuple(moved))
        self.turns.append(turn)
        if self.contradiction:
            return "" if answer is None else answer.content
        return _play(self.believed, self._answers, len(self.turns) - 1, turn)

    def true_score(self) -> Score:
        """What the task's rubric gives to the calls in the true world."""
        return self.true.score()

    def simulated_score(self) -> Score | None:
        """What the rubric over the simulated rows gives; `None` where the simulation contradicts itself."""
        return None if self.contradiction else self.believed.score()

    def _ask(self, call: ToolCall) -> SimulatedAnswer:
        world, state = self.instance.world, self.believed.state
        if call.tool not in world.toolbox:
            raise ReplyError(f"the world has no tool {call.tool!r} to simulate; call one of its own")
        messages = ask_for_answer(
            world.toolbox[call.tool],
            call,
            now=self.believed.clock.now,
            calls=[turn.call for turn in self.turns],
            rows=self._shown,
        )
        complaint = ""
        for attempt in range(self._tries):
            seed = self._seeds.split(len(self.turns), attempt).below(2**31)
            text = self._simulator.complete(messages, seed=seed)
            try:
                return read_answer(text, world, state)
            except ReplyError as error:
                complaint = str(error)
        raise ReplyError(f"the simulator gave no answer to {call.tool} in {self._tries} tries; the last: {complaint}")

    def _writes(self, call: ToolCall) -> bool:
        return self.instance.world.toolbox[call.tool].writes

    def _note_shown(self, answer: SimulatedAnswer) -> None:
        for row in answer.rows:
            plain = {name: orjson.loads(orjson.dumps(value)) for name, value in row.columns.items()}
            before = self._shown.pop(row.key, {})
            assert isinstance(before, dict), "rows are objects"
            self._shown[row.key] = {**before, "id": row.key, **plain}

    def _take_in(self, answer: SimulatedAnswer) -> list[AnswerRow]:
        """Correct the rows that a reading answer shows otherwise; those of them that a call had written."""
        state, moved, corrected = self.believed.state, list[AnswerRow](), False
        written = {(change.table, change.key) for change in state.journal}
        for found in answer.rows:
            place = (found.kind.table, found.key)
            row = state.peek(found.kind, found.key)
            if (row is None and not found.whole) or (row is not None and not found.differences(row)):
                continue
            if place in written:
                moved.append(found)
                continue
            before = self._corrections.get(place)
            columns = {**before.columns, **found.columns} if before is not None else found.columns
            whole = found.whole or (before is not None and before.whole)
            self._corrections[place] = AnswerRow(kind=found.kind, key=found.key, columns=columns, whole=whole)
            corrected = True
        if corrected:
            self._believe()
        return moved

    def _believe(self) -> None:
        """Make the task over the corrected rows, and play the calls so far in it."""
        try:
            self.believed_instance = _correct_task(self.instance, self._correct)
        except PalaestraError as error:
            self.contradiction = str(error)
            return
        self._answers = {}
        self.believed = _begin(self.believed_instance, self._answers)
        for number, turn in enumerate(self.turns):
            _play(self.believed, self._answers, number, turn)

    def _correct(self, state: Overlay) -> None:
        for correction in self._corrections.values():
            put_row(state, correction)


def can_simulate(instance: Instance) -> bool:
    """Whether a task can be simulated: its family answers for other rows, and no tool stands for several calls."""
    if instance.world.toolbox.composites:
        return False
    try:
        _correct_task(instance, lambda _: None)
    except PalaestraError:
        return False
    return True


def _correct_task(task: Instance, correct: Callable[[Overlay], None]) -> Instance:
    """The task with the same request over corrected rows."""
    return make_instance(
        task.world,
        task.family,
        int(task.spec.id.rpartition("/")[2]),
        handbook=task.handbook,
        rules=task.rules,
        base=task.initial_state.base,
        drawing=task.drawing,
        shares_deals=False,
        correct=correct,
    )


def _begin(instance: Instance, answers: dict[str, SimulatedAnswer]) -> LiveEpisode:
    toolbox = SimulatedToolbox(instance.world.toolbox, answers)
    return LiveEpisode(instance, seed=0, max_turns=instance.spec.max_turns, toolbox=toolbox)


def _run(episode: LiveEpisode, call: ToolCall) -> str:
    """Play one turn; the answer of its call."""
    episode.begin_turn()
    messages = episode.run((call,))
    episode.close_turn(tuple(messages), readable=True)
    return messages[0]["content"]


def _play(episode: LiveEpisode, answers: dict[str, SimulatedAnswer], number: int, turn: SimulatedTurn) -> str:
    """Play a turn in the believed world, under its answer."""
    if turn.answer is not None:
        answers[f"call_{episode.turn}_0"] = turn.answer
    mark = len(episode.state.journal)
    changed = [put_row(episode.state, row) for row in turn.moved]
    if any(changed):
        written = episode.state.journal[mark:]
        episode.evidence.events.append(log_world_event(f"simulated_{number}", "simulated", len(written)))
        episode.evidence.take_in_world_changes(written)
        episode.checklist.update(episode.evidence)
    return _run(episode, turn.call)
