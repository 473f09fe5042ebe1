"""An external benchmark as an environment, with the observations, actions and records of Palaestra's worlds.

State
    The benchmark's own, in a separate process.
Actions
    Those of `palaestra.envs.ToolEnv`: a call, the calls of a turn, or raw text. Words without a call, or the call
    `reply`, go to the benchmark if it uses words. `finish` and `give_up` end every episode; calls after them in the
    same turn do not run.
Observations
    The chat messages that are new to the agent.
Reward
    The change of the benchmark's own score, in points of 100.
Ends
    When the benchmark is over, the agent finishes or gives up, the turns are used up, or three turns in a row could not
    be read. If the benchmark raises, hangs or dies, that is an `InfrastructureError`, never a reward.
Seeds
    A task's id fixes the task; the seed goes to the benchmark for its random choices. Episodes do not fork.
"""

import atexit
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import gymnasium as gym

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.catalogue import benchmark_of
from palaestra.benchmarks.external.offer import ENDS, REPLY, Offer, TurnSpace
from palaestra.benchmarks.external.protocol import WireOpening, WireReply, WireTask, WireTurn
from palaestra.benchmarks.external.wire import (
    action_of,
    components_of,
    counting_criteria,
    criterion_of,
    event_of,
    message_of,
    score_of,
    spec_of,
)
from palaestra.benchmarks.external.worker import BenchmarkProcess, BenchmarkProcesses
from palaestra.digest import digest
from palaestra.envs.reading import TurnReader, echo_ids, unreadable_message
from palaestra.envs.spaces import MessageSpace
from palaestra.errors import CapabilityError, EpisodeOverError, InfrastructureError, TaskError, UnknownNameError
from palaestra.protocols import Action
from palaestra.records import EndReason, Message, Score, Standing, TaskSpec, ToolCall, ToolEvent
from palaestra.seeding import Stream
from palaestra.steps import ResetRecord, Returned, StepRecord
from palaestra.tools import FORMATS, PythonFormat, bind_tools, plain_call

WORKERS = BenchmarkProcesses()
"""The benchmark processes that this process has started; they end with it."""
atexit.register(WORKERS.close)
os.register_at_fork(after_in_child=WORKERS.forget)

_UNREADABLE = 3
"""Turns in a row without a readable call that end an episode, as in all environments."""
_LISTING = 300.0
"""Maximum seconds for a benchmark to list its tasks."""


class ExternalEnv(gym.Env[tuple[Message, ...], Action]):
    """A benchmark's tasks, one episode at a time; see the module's text for the contract.

    Args:
        env_id: The registered id, such as "palaestra/BFCL-v0".
        split: The split from which `reset` draws, or "all". Default: the benchmark's first.
        category: Draw only from this category.
        task: The id of the one task to play, such as "bfcl/multi_turn_base/3".
        action_format: How raw text is read.
        max_turns: A budget instead of the task's own.
        seconds: Maximum seconds for one answer before the benchmark counts as hanging.
        render_mode: "ansi" for text, or `None`.
        options: The benchmark's own options, listed in its `Benchmark.options`.

    Raises:
        UnknownNameError: there is no such benchmark, split, category, task, format or option.
        CapabilityError: the format is code, which can call only tools of Palaestra's own worlds.
        ConfigError: the benchmark is not installed; the message says how to install it.
        InfrastructureError: it does not start.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        env_id: str,
        *,
        split: str | None = None,
        category: str | None = None,
        task: str | None = None,
        action_format: str = "hermes",
        max_turns: int | None = None,
        seconds: float = 120.0,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if max_turns is not None and max_turns < 1:
            raise ValueError(f"max_turns={max_turns}: a budget is at least 1")
        if seconds <= 0:
            raise ValueError(f"seconds={seconds}: a time is above 0")
        if render_mode not in (None, "ansi"):
            raise UnknownNameError.of("render mode", str(render_mode), ["ansi"])
        self.env_id = env_id
        self.benchmark: Benchmark = benchmark_of(env_id)
        self.benchmark.check_options(options)
        self.render_mode = render_mode
        self._options = {**self.benchmark.options, **options}
        self._format = FORMATS.get(action_format)
        if isinstance(self._format, PythonFormat):
            raise CapabilityError(
                f"action_format={action_format!r}: code calls tools of Palaestra's own worlds; choose a format of calls"
            )
        self._budget = max_turns
        self._seconds = seconds
        self._worker: BenchmarkProcess | None = None
        self._number = 0
        self._end: EndReason | None = None
        self.tasks: Mapping[str, WireTask] = self._read_catalogue()
        self._ids = self.ids(split, category)
        self._task_id = task
        if task is not None:
            self._wire_task(task)
        self.observation_space = MessageSpace()
        self._offer(Offer([], prose=True))

    # The tasks

    def _read_catalogue(self) -> dict[str, WireTask]:
        tasks: list[WireTask] = self._ask_worker("tasks")
        found = {f"{self.benchmark.name}/{task['id']}": task for task in tasks}
        if len(found) < len(tasks):
            raise self._fault(f"{len(tasks) - len(found)} of {len(tasks)} tasks have another's id")
        return found

    def installed_version(self) -> str:
        """The installed version of the benchmark."""
        version: str = self._ask_worker("version")
        return version

    def _ask_worker(self, what: str) -> Any:
        """Ask the benchmark for facts that need no episode. Any: JSON."""
        worker = WORKERS.borrow(self.benchmark, self._options)
        try:
            return worker.ask(what, seconds=max(self._seconds, _LISTING))
        finally:
            WORKERS.give_back(worker)

    def ids(self, split: str | None = None, category: str | None = None) -> tuple[str, ...]:
        """The ids of a split and a category, in the benchmark's order.

        Args:
            split: A split, or "all". Default: the benchmark's first.
            category: A category. Default: all.

        Raises:
            UnknownNameError: there is no such split or category.
        """
        split = split or next(iter(self.benchmark.splits))
        if split != "all" and split not in self.benchmark.splits:
            raise UnknownNameError.of(f"split of {self.benchmark.name}", split, ["all", *self.benchmark.splits])
        categories = dict.fromkeys(task["category"] for task in self.tasks.values())
        if category is not None and category not in categories:
            raise UnknownNameError.of(f"category of {self.benchmark.name}", category, categories)
        return tuple(
            id
            for id, task in self.tasks.items()
            if split in ("all", task["split"]) and category in (None, task["category"])
        )

    def _wire_task(self, task: str) -> WireTask:
        if task not in self.tasks:
            raise UnknownNameError.of(f"task of {self.benchmark.name}", task, self.tasks)
        return self.tasks[task]

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """Begin an episode, like `ToolEnv.reset`.

        Raises:
            UnknownNameError: an option or the task is unknown.
            TaskError: the split lists no task.
            InfrastructureError: the benchmark failed.
        """
        super().reset(seed=seed)
        for option in options or {}:
            if option != "task":
                raise UnknownNameError.of("reset option", option, ["task"])
        self._seed = int(self.np_random.integers(2**31)) if seed is None else seed
        id = (options or {}).get("task") or self._task_id or self._draw(self._seed)
        task = self._wire_task(id)
        self._spec = spec_of(task, id, self.benchmark.trainable)
        self._seat()
        opening: WireOpening = self._ask("begin", task=task["id"], seed=self._seed)
        try:
            self._offer(Offer(opening["tools"], prose=opening["prose"]))
        except InfrastructureError:
            self._void()
            raise
        self._rubric = tuple(map(criterion_of, opening["criteria"]))
        self._observation = tuple(map(message_of, opening["messages"]))
        self._turns = self._unreadable = self._calls = self._points = 0
        self._first_of: dict[str, str] = {}
        self._end = None
        state_hash = self.state_hash()
        return ResetRecord(
            messages=self._give(),
            tools=self._offered.tools,
            task=self._spec,
            rubric=self._rubric,
            seed=self._seed,
            state_hash=state_hash,
            anchor=self._anchor(state_hash),
        ).to_gymnasium()

    def step(self, action: Action) -> Returned:
        """Take one turn, like `ToolEnv.step`. If the tools change, `info["tools"]` has the new ones.

        Raises:
            EpisodeOverError: there is no episode, or it has ended.
            ActionError: `action` is not an action.
            InfrastructureError: the benchmark failed; the episode is void.
        """
        if self._worker is None:
            raise EpisodeOverError("step before reset, or after a fault; call env.reset() to begin an episode")
        if self._end is not None:
            raise EpisodeOverError(f"step after the end ({self._end}); call env.reset() to begin another episode")
        turn = self._reader.read(action)
        calls, unreadable = turn.calls, turn.unreadable
        before, offered = self._points, self._offered
        self._turns += 1
        self._unreadable = 0 if unreadable is None else self._unreadable + 1
        try:
            events = self._play(calls) if unreadable is None else ()
        except InfrastructureError:
            self._void()
            raise
        if unreadable is not None:
            self._observation = (unreadable_message(unreadable),)
        if self._end is None:
            self._end = self._find_end()
        score = self._judge(self._end) if self._end is not None else None
        self._points = score.points if score else self._points
        state_hash = self.state_hash()
        messages = self._give()
        if turn.ids:
            ids = turn.ids if unreadable is not None else self._answered_ids(calls, turn.ids)
            messages = echo_ids(messages, ids, unreadable=unreadable is not None)
        return StepRecord(
            messages=messages,
            reward=float(self._points - before),
            task=self._spec,
            calls=calls,
            unreadable=unreadable,
            events=events,
            changes=(),
            standing=Standing(
                points=self._points,
                components=components_of(self._points),
                met=counting_criteria(self._rubric, score, "expect"),
                violated=counting_criteria(self._rubric, score, "forbid"),
            ),
            end=self._end,
            score=score,
            user=None,
            state_hash=state_hash,
            anchor=self._anchor(state_hash),
            tools=self._offered.tools if self._offered is not offered else None,
        ).to_gymnasium()

    def _answered_ids(self, calls: Sequence[ToolCall], ids: Sequence[str]) -> list[str]:
        """The caller's ids of the calls that the benchmark answers; prose gets no answer of its own."""
        return [
            call_id for call, call_id in zip(calls, ids, strict=True) if call.tool != REPLY or not self._offered.prose
        ]

    def _find_end(self) -> EndReason | None:
        if self._unreadable >= _UNREADABLE:
            return EndReason.UNPARSABLE
        return EndReason.MAX_TURNS if self._turns >= (self._budget or self._spec.max_turns) else None

    def _play(self, calls: tuple[ToolCall, ...]) -> tuple[ToolEvent, ...]:
        """Play a turn in the benchmark, up to the call that ends the episode; later calls do not run."""
        ending = next((position for position, call in enumerate(calls) if call.tool in ENDS), None)
        end = None if ending is None else ENDS[calls[ending].tool]
        plain = [plain_call(call) for call in calls[:ending]]
        theirs = [call for call in plain if call.tool != REPLY or not self._offered.prose]
        spoken = [str(call.arguments.get("message", "")) for call in plain if call not in theirs]
        self._observation = ()
        if end is not None and not plain:
            self._end = end
            return ()
        wire = [{"tool": call.tool, "arguments": dict(call.arguments)} for call in theirs]
        reply: WireReply = self._ask("turn", calls=wire, prose="\n".join(spoken))
        results = reply["results"]
        if len(results) > len(theirs) or (len(results) < len(theirs) and not reply["end"]):
            raise self._fault(f"{len(results)} results for {len(theirs)} calls")
        events = tuple(self._event(call, r["content"], r["error"]) for call, r in zip(theirs, results, strict=False))
        answers = [Message(role="tool", content=result["content"]) for result in results]
        self._observation = (*answers, *map(message_of, reply["messages"]))
        self._points = reply["points"]
        self._end = self._reason(reply["end"]) if reply["end"] else end
        if reply["tools"] is not None:
            self._offer(Offer(reply["tools"], prose=self._offered.prose))
        return events

    def _reason(self, end: str) -> EndReason:
        try:
            return EndReason(end)
        except ValueError:
            raise self._fault(f"{end!r} is no reason for an end ({', '.join(EndReason)})") from None

    def _event(self, call: ToolCall, content: str, error: str | None) -> ToolEvent:
        self._calls += 1
        call_id = f"call-{self._calls}"
        first = self._first_of.setdefault(digest([call.tool, dict(call.arguments)]), call_id)
        duplicate_of = None if first == call_id else first
        return event_of(call, content, error, call_id=call_id, fits=self._offered.fits(call), duplicate_of=duplicate_of)

    def _offer(self, offer: Offer) -> None:
        self._offered = offer
        self._format = bind_tools(self._format, offer.tools)
        self._reader = TurnReader(format=self._format, prose_tool=REPLY if offer.prose else None)
        self.action_space = TurnSpace(offer, self._format)

    def _draw(self, seed: int) -> str:
        if not self._ids:
            raise TaskError("the split lists no task; choose another split or category, or name a task")
        return Stream.root("instance", seed).choice(self._ids)

    def _give(self) -> tuple[Message, ...]:
        return tuple(message.copy() for message in self._observation)

    def _anchor(self, state_hash: str) -> str:
        return digest([state_hash, self._observation])

    def render(self) -> str:
        """The observation as text."""
        return "\n".join(f"[{m['role']}] {m['content']}" for m in self._observation)

    def close(self) -> None:
        """End the episode. Its process remains for other episodes of this program."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        WORKERS.give_back(worker)
        if worker.lost is None:
            worker.ask("close", seconds=self._seconds, episode=self._number)

    # For trusted callers

    @property
    def task(self) -> TaskSpec:
        """The task being played."""
        return self._spec

    def score(self, end: EndReason | None = None) -> Score:
        """The score if the episode were ended from outside now; the only budget of benchmarks is turns."""
        del end
        return self._judge(self._end or EndReason.MAX_TURNS)

    def oracle(self) -> tuple[Action, ...] | None:
        """The benchmark's own solution of the task, turn by turn from the beginning; `None` if it has none."""
        turns: list[WireTurn] | None = self._ask("gold")
        return None if turns is None else tuple(map(action_of, turns))

    def legal_actions(self, count: int = 8, *, seed: int | None = None) -> list[Action]:
        """Turns that make sense in the present state, or turns drawn from the tools' schemas if the benchmark has none.

        Args:
            count: The number of turns.
            seed: The random seed; `None` derives it from the state, so that equal states give equal turns.
        """
        stream = Stream.root("legal", self._seed, self._turns) if seed is None else Stream.root("legal", seed)
        turns = [self._ask("legal", draw=stream.below(2**31)) for _ in range(count)]
        return [action_of(turn) if turn else self._offered.draw_action(stream) for turn in turns]

    def state_hash(self) -> str:
        """A hash of the benchmark's state, or of an empty text if the benchmark does not report it."""
        return digest(self._ask("state"))

    # The process

    def _seat(self) -> None:
        """Get a working process."""
        if self._worker is not None and self._worker.lost is not None:
            self._void()
        if self._worker is None:
            self._worker = WORKERS.borrow(self.benchmark, self._options)
            self._number = self._worker.number()

    def _ask(self, do: str, **request: Any) -> Any:
        if self._worker is None:
            raise EpisodeOverError(f"{do}: no episode; call env.reset() to begin one")
        try:
            return self._worker.ask(do, seconds=self._seconds, episode=self._number, **request)
        except InfrastructureError:
            self._void()
            raise

    def _judge(self, end: EndReason) -> Score:
        return score_of(self._ask("verdict", end=str(end)))

    def _void(self) -> None:
        """Close an episode after a fault, ignoring further errors."""
        with suppress(InfrastructureError):
            self.close()

    def _fault(self, what: str) -> InfrastructureError:
        self._void()
        return InfrastructureError(f"{self.benchmark.name}: {what}; a benchmark that answers so is at fault")
