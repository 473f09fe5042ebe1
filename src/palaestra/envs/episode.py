"""An episode under way: the rows, the clock, the log and the checklist of one task being played."""

from collections.abc import Callable, Sequence

import orjson

from palaestra.clock import Clock
from palaestra.digest import digest, digest_bytes
from palaestra.envs.instance import Instance
from palaestra.envs.later import due, happen, log_world_event
from palaestra.envs.noise import NoisePlan, NoiseState
from palaestra.envs.snapshot import Snapshot
from palaestra.envs.state import Overlay
from palaestra.envs.user import Conversation, ScriptedUser, UserFactory
from palaestra.envs.world import CONVENTIONAL, SurfaceState
from palaestra.records import EndReason, Message, Score, ToolCall, ToolEvent
from palaestra.rubrics import Checklist
from palaestra.steps import InjectionReport
from palaestra.tools import CallResult, Toolbox, ToolContext, join_answers, run_composite
from palaestra.tools.wire import plain_name

UNPARSABLE_LIMIT = 3
"""Turns in a row without a readable call after which an episode is truncated."""


class LiveEpisode:
    """One episode, from its first message to its end.

    Attributes:
        instance: The task.
        seed: What drives everything that the task does not fix.
        toolbox: The tools of the surface that is played on.
        surface_name: Which surface that is.
        state: The rows.
        evidence: What a rubric reads: events, changes, answer, end.
        checklist: The rubric at work.
        observation: The messages that are new to the agent.
        turn: How many turns have been played.
        surface: What the surface holds beside the rows; `None` on surfaces that hold nothing.
        conversation: The talk with the user; `None` where nobody answers.
        noise_state: The noise at work; `None` where every switch is off.
        faulted: Whether the world failed; the episode is then void.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        seed: int,
        max_turns: int,
        toolbox: Toolbox,
        surface_name: str = CONVENTIONAL,
        begin: Callable[[], SurfaceState] | None = None,
        opens: bool = True,
        user: UserFactory = ScriptedUser,
        noise_plan: NoisePlan | None = None,
    ) -> None:
        self.noise_state: NoiseState | None = None
        if noise_plan is not None:
            instance, self.noise_state = noise_plan.instance, NoiseState(noise_plan)
        world = instance.world
        self.instance = instance
        self.seed = seed
        self.toolbox = toolbox
        self.surface_name = surface_name
        self.state: Overlay = instance.initial_state.fork()
        self.clock = Clock(instance.start)
        self.context = ToolContext(
            state=self.state,
            clock=self.clock,
            role=world.role,
            actor=world.actor,
            ids_in=world.schema.ids_in,
            rules=instance.rules,
            states=self.state.states,
        )
        self.evidence = instance.evidence(self.state)
        self.checklist = Checklist(instance.rubric)
        self.observation = instance.messages
        self._begin = begin
        self.surface = None if begin is None else begin()
        self.context.surface = self.surface
        if self.surface is not None:
            for message in instance.messages:
                if message["role"] == "user":
                    self.surface.hear(message["content"], by_agent=False)
        if self.surface is not None and opens:
            self.observation = (*instance.messages, Message(role="user", content=self.surface.show(self.context)))
        self.turn = 0
        self.conversation: Conversation | None = None
        if instance.user is not None:
            self.conversation = Conversation(
                instance.user,
                user(instance.user),
                seed=seed,
                is_id=instance.initial_state.has_row,
            )
        self.faulted = False
        self._happened = 0
        self._user = user
        self._unparsable = 0
        self._max_turns = max_turns

    def begin_turn(self) -> None:
        """A turn begins: what was answered so far could be read."""
        self.begin_reading()

    def begin_reading(self) -> None:
        """Whoever makes the next call could read what was answered so far."""
        self.evidence.turn_start = len(self.evidence.events)

    def hear(self, messages: Sequence[Message]) -> None:
        """Take it that these messages were read."""
        self.evidence.heard += [message["content"] for message in messages]

    def run(self, calls: tuple[ToolCall, ...], *, first: int = 0) -> list[Message]:
        """Run the calls of one turn, in order, up to one that ends the episode; give their answers.

        What the user says to the messages among them comes last, since chat models read a turn's answers in one piece.

        Args:
            calls: What to run.
            first: The position of the first of them in the turn.
        """
        messages: list[Message] = []
        spoken: list[Message] = []
        for position, call in enumerate(calls, first):
            call_id = f"call_{self.turn}_{position}"
            if self.surface is not None:
                messages.append(self._run_on(self.surface, call_id, call, spoken))
            elif self.noise_state is not None:
                messages.append(self._run_in(self.noise_state, call_id, call, spoken))
            elif call.tool in self.toolbox.composites:
                messages.append(self._run_composite(call_id, call))
            else:
                result = self.toolbox.call(self.context, self.state, call_id, call, self.evidence.events)
                event = result.event if self.conversation is None else self._deliver_message(result.event, spoken)
                self.evidence.events.append(event)
                self.checklist.update(self.evidence)
                messages.append(_answer(call_id, event.tool, result.content, result.images))
                self._let_happen()
            if self.context.end_reason is not None:
                break
        return messages + spoken

    def _run_on(self, surface: SurfaceState, call_id: str, call: ToolCall, spoken: list[Message]) -> Message:
        """Run the action that a call on a surface makes, an event of its own, and then the call; give its answer."""
        events = self.evidence.events
        action, actions = surface.submission(self.state, call), self.toolbox.actions
        if action is not None and actions is not None:
            service = action.tool in actions and actions[action.tool].writes
            result = self._call_on(actions, f"{call_id}.1", action, service=service)
            events.append(self._deliver_message(surface.settle(action, result), spoken))
            self.checklist.update(self.evidence)
            self._let_happen()
            if self.context.end_reason is not None:  # by an action of another name, such as `done` for `finish`
                return _answer(call_id, plain_name(call.tool), _as_text(result.content), result.images)
        result = self._call_on(self.toolbox, call_id, call, service=False)
        events.append(self._deliver_message(result.event, spoken))
        self.checklist.update(self.evidence)
        self._let_happen()
        if self.noise_state is not None:
            self._let_noise_happen(self.noise_state)
        return _answer(call_id, result.event.tool, _as_text(result.content), result.images)

    def _call_on(self, toolbox: Toolbox, call_id: str, call: ToolCall, *, service: bool) -> CallResult:
        """Run a call on a surface with a session, under noise if there is any."""
        if self.noise_state is None:
            return toolbox.call(self.context, self.state, call_id, call, self.evidence.events)
        return self.noise_state.call_on(
            toolbox, self.context, self.state, call_id, call, self.evidence, service=service
        )

    def _run_in(self, noise_state: NoiseState, call_id: str, call: ToolCall, spoken: list[Message]) -> Message:
        """Run one call under noise, then what happens in the world by itself; give the call's answer."""
        evidence, results = self.evidence, list[CallResult]()
        for result in noise_state.call(self.context, self.state, call_id, call, evidence):
            results.append(result)
            evidence.events.append(self._deliver_message(result.event, spoken))
            self.checklist.update(evidence)
            self._let_happen()
        self._let_noise_happen(noise_state)
        content = noise_state.content(call, results)
        return _answer(call_id, plain_name(call.tool), content, _images(results))

    def _let_noise_happen(self, noise_state: NoiseState) -> None:
        """Write what has happened in the world by itself."""
        evidence = self.evidence
        for event in noise_state.happenings(self.context, self.state, evidence):
            evidence.events.append(event)
            evidence.take_in_world_changes(self.state.journal[-event.written :])
            self.checklist.update(evidence)

    def _run_composite(self, call_id: str, call: ToolCall) -> Message:
        """Run the actions that a composite call stands for, each an event of its own, and give their answer."""
        results: list[CallResult] = []
        events = self.evidence.events
        for result in run_composite(self.toolbox, self.context, self.state, call_id, call, events):
            results.append(result)
            events.append(result.event)
            self.checklist.update(self.evidence)
            self._let_happen()
        return _answer(call_id, call.tool, join_answers(results), _images(results))

    def _let_happen(self) -> None:
        """Write what has happened in the world by the day to which the latest call has taken the clock."""
        later = self.instance.later
        if self._happened == len(later):
            return
        for number in range(self._happened, due(later, self.clock.today)):
            mark = len(self.state.journal)
            happen(later[number], self.state)
            written = self.state.journal[mark:]
            self.evidence.events.append(log_world_event(f"later_{number}", later[number].name, len(written)))
            self.evidence.take_in_world_changes(written)
            self.checklist.update(self.evidence)
            self._happened = number + 1

    def _deliver_message(self, event: ToolEvent, spoken: list[Message]) -> ToolEvent:
        """The event as the user took it, if it is a message to them; what they say is added to `spoken`."""
        if event.tool != self.toolbox.prose_tool or not event.executed:
            return event
        if self.surface is not None:
            self.surface.hear(str(event.arguments["message"]), by_agent=True)
        if self.conversation is None:
            return event
        event, message = self.conversation.answer(event)
        if message is not None:
            spoken.append(message)
            if self.surface is not None:
                self.surface.hear(message["content"], by_agent=False)
        if self.conversation.left:
            self.context.end(EndReason.USER_LEFT)
        return event

    def close_turn(self, observation: tuple[Message, ...], *, readable: bool, heard: bool = False) -> None:
        """Count the turn and end the episode where something ended it.

        Args:
            observation: The messages that are new to the agent.
            readable: Whether the turn could be read.
            heard: Whether what is evidence of them was taken in before, by `hear`.
        """
        self.observation = observation
        if not heard:
            self.hear(observation)
        self.turn += 1
        self._unparsable = 0 if readable else self._unparsable + 1
        self.evidence.answer = self.context.answer
        if self.context.end_reason is not None:
            self.evidence.end = self.context.end_reason
        elif self._unparsable >= UNPARSABLE_LIMIT:
            self.evidence.end = EndReason.UNPARSABLE
        elif self.turn >= self._max_turns:
            self.evidence.end = EndReason.MAX_TURNS
        if self.evidence.end is not None:
            self.checklist.finish(self.evidence)

    def score(self) -> Score:
        """The rubric's judgement so far."""
        return self.checklist.score(self.evidence.end)

    def injection_report(self) -> InjectionReport | None:
        """How far the planted instruction got; `None` where none is planted."""
        injection = self.instance.injection
        return None if injection is None else injection.report(self.evidence)

    def score_ended(self, end: EndReason) -> Score:
        """The judgement of this episode, which has not ended, if it were ended here; the episode stays as it is."""
        kept = self.checklist.snapshot()
        self.evidence.end = end
        self.checklist.finish(self.evidence)
        score = self.score()
        self.evidence.end = None
        self.checklist.restore(kept)
        return score

    def snapshot(self) -> Snapshot:
        """Everything that decides how the episode goes on."""
        return Snapshot(
            world=self.instance.world.name,
            task_id=self.instance.spec.id,
            handbook=self.instance.handbook,
            seed=self.seed,
            rows=self.state.snapshot(),
            checklist=self.checklist.snapshot(),
            events=tuple(self.evidence.events),
            heard=tuple(self.evidence.heard),
            elapsed=self.clock.elapsed,
            waited=self.clock.days_waited,
            turn=self.turn,
            unparsable=self._unparsable,
            max_turns=self._max_turns,
            answer=dict(self.evidence.answer),
            end=self.evidence.end,
            observation=self.observation,
            user=None if self.conversation is None else self.conversation.state,
            noise_state=None if self.noise_state is None else self.noise_state.snapshot(),
            variation=self.instance.variation,
            stakes=self.instance.stakes,
            injection=None if self.instance.injection is None else self.instance.injection.choice,
            session=None if self.surface is None else self.surface.session,
            surface=self.surface_name,
            surface_settings=None if self.surface is None else self.surface.settings,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Be as the episode of the same task was that gave `snapshot`."""
        self.seed = snapshot.seed
        self.state.restore(snapshot.rows)
        self.checklist.restore(snapshot.checklist)
        self.evidence.events = list(snapshot.events)
        self.evidence.heard = list(snapshot.heard)
        self.evidence.went_back()
        self.evidence.answer = dict(snapshot.answer)
        self.evidence.end = snapshot.end
        self.context.answer = dict(snapshot.answer)
        self.context.end_reason = snapshot.end
        self.clock.set_elapsed(snapshot.elapsed, waited=snapshot.waited)
        self._happened = due(self.instance.later, self.clock.today)
        self.turn = snapshot.turn
        self._unparsable = snapshot.unparsable
        self._max_turns = snapshot.max_turns
        self.observation = snapshot.observation
        if self.conversation is not None and snapshot.user is not None:
            self.conversation.state = snapshot.user
        if self.noise_state is not None and snapshot.noise_state is not None:
            self.noise_state.restore(snapshot.noise_state)
        if self.surface is not None and snapshot.session is not None:
            self.surface.session = snapshot.session

    def fork(self) -> "LiveEpisode":
        """An independent episode that stands at the same place."""
        copy = LiveEpisode(
            self.instance,
            seed=self.seed,
            max_turns=self._max_turns,
            toolbox=self.toolbox,
            surface_name=self.surface_name,
            begin=self._begin,
            opens=False,
            user=self._user,
            noise_plan=None if self.noise_state is None else self.noise_state.noise_plan,
        )
        copy.restore(self.snapshot())
        return copy

    def digest(self) -> str:
        """A hash of everything: episodes of equal digests go on alike."""
        checklist = self.checklist.snapshot()
        return digest(
            (
                self.instance.spec.id,
                self.instance.handbook,
                self.seed,
                self.state.state_hash(),
                self.state.journal,
                self.clock.now,
                [(e.tool, e.arguments, e.error, e.result_digest, sorted(e.mentioned)) for e in self.evidence.events],
                (checklist.counts, checklist.holds, checklist.early, checklist.end_points, checklist.journal_length),
                (self.turn, self._unparsable, self._max_turns, self.evidence.end, self.evidence.answer),
                self.observation,
                None if self.conversation is None else self.conversation.state,
                *(() if self.noise_state is None else (self.noise_state.snapshot(),)),
                *(("stakes",) if self.instance.stakes else ()),
                *(() if self.surface is None else (("session", self.surface.session),)),
                *(() if self.instance.variation is None else (("manner", self.instance.variation),)),
                *(() if self.instance.injection is None else (("injection", self.instance.injection.id),)),
            )
        )

    def anchor(self, state_hash: str) -> str:
        """A hash of the rows, whose hash this is, and the observation, without history."""
        shown = [state_hash]
        for message in self.observation:
            shown.append(message["content"])
            shown += message.get("images", ())
        return digest_bytes("\0".join(shown).encode())


def _answer(call_id: str, tool: str, content: str, images: Sequence[str]) -> Message:
    """The message with which a tool answers."""
    answer: Message = {"role": "tool", "tool_call_id": call_id, "name": tool, "content": content}
    if images:
        answer["images"] = list(images)
    return answer


def _as_text(content: str) -> str:
    """An answer that is one text without its quotes, as a page is read; any other answer as it is."""
    return str(orjson.loads(content)) if content.startswith('"') else content


def _images(results: Sequence[CallResult]) -> list[str]:
    """What the actions of one call attached, in order."""
    return [url for result in results for url in result.images]
