"""Noise at work on one episode: between the agent's calls and the tools, and in the world beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from palaestra.clock import Clock
from palaestra.digest import digest_bytes
from palaestra.envs.noise.answer import ToolAnswer
from palaestra.envs.noise.caps import cap_answer
from palaestra.envs.noise.delay import Delay
from palaestra.envs.noise.events import WorldEvents
from palaestra.envs.noise.failures import Failures
from palaestra.envs.noise.lag import Lag
from palaestra.envs.noise.lures import InjectionNoise, find_obeyed
from palaestra.envs.noise.noise import Noise
from palaestra.envs.noise.plan import NoisePlan
from palaestra.envs.noise.quota import Quota
from palaestra.envs.noise.refusal import TRANSIENT, Refusal
from palaestra.envs.noise.spelling import KEPT
from palaestra.envs.state import Overlay
from palaestra.records import EndReason, ToolCall, ToolEvent
from palaestra.rubrics import WORLD, Evidence
from palaestra.tools import CallResult, Toolbox, ToolContext, join_answers, plain_call, run_composite
from palaestra.tools.images import digest_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSnapshot:
    """Everything that noise remembers."""

    noise: Noise
    calls: int
    """How many calls the agent has made."""
    failed: tuple[tuple[str, int], ...]
    """The calls that failed, by their hash, and how often in a row."""
    taken: tuple[int, ...]
    """The seconds at which the calls of the last minute were taken."""
    until: int
    """The second up to which things have happened by themselves."""
    stale: int
    """How many entries of lists were old."""
    lures: tuple[str, ...]
    """The planted instructions that answers held."""


class NoiseState:
    """The noise of one episode.

    Args:
        noise_plan: What it does to the task.
    """

    def __init__(self, noise_plan: NoisePlan) -> None:
        noise, material, stream = noise_plan.noise, noise_plan.material, noise_plan.stream
        schema = noise_plan.instance.world.schema
        self.noise_plan = noise_plan
        self._calls = 0
        self._failures = Failures(noise.failures, stream("failures"))
        self._quota = Quota(noise.rate_limit)
        self._delay = Delay(noise.latency, stream("latency"))
        self._lag = Lag(noise.stale, stream("stale"), material.listings, noise_plan.instance.rubric)
        kinds = {schema[table].kind: columns for table, columns in material.texts.items()}
        self._lures = InjectionNoise(noise.injections, stream("injections"), noise_plan.lures, kinds)
        avoid = noise_plan.avoid if noise.events else frozenset[str]()
        self._world_events = WorldEvents(noise.events, stream("events"), material.events, avoid)

    # A call

    def call(
        self, context: ToolContext, state: Overlay, call_id: str, call: ToolCall, evidence: Evidence
    ) -> Iterator[CallResult]:
        """Run one call, with noise before and after it: one result, or one for each action of a composite call.

        Take in each event before asking for the next.

        Args:
            context: The world as the call sees it.
            state: The same rows.
            call_id: The id of this call.
            call: What the agent asks for, in the names that it knows.
            evidence: What happened so far.

        Yields:
            The answer for the agent, in its names; the event, in the world's own.

        Raises:
            InfrastructureError: the tool itself crashed.
        """
        number, spelling, toolbox = self._calls, self.noise_plan.spelling, self.noise_plan.toolbox
        self._calls += 1
        own = call if spelling is None else spelling.read(call)
        refusal = self._refusal(own, number, context.clock)
        if refusal is not None:
            yield self._refuse(context, call_id, own, refusal)
        elif spelling is not None and not self._understood(call):
            result = self.noise_plan.refusing.call(context, state, call_id, call, evidence.events)
            plain = plain_call(own)
            yield replace(result, event=replace(result.event, tool=plain.tool, arguments=plain.arguments))
        elif own.tool in toolbox.composites:
            for result in run_composite(toolbox, context, state, call_id, own, evidence.events):
                yield self._answer(result, number, context, state, evidence)
        else:
            result = toolbox.call(context, state, call_id, own, evidence.events)
            yield self._answer(result, number, context, state, evidence)

    def call_on(
        self,
        toolbox: Toolbox,
        context: ToolContext,
        state: Overlay,
        call_id: str,
        call: ToolCall,
        evidence: Evidence,
        *,
        service: bool,
    ) -> CallResult:
        """Run one call of a surface with a session, or the action that it makes.

        Args:
            toolbox: The tools that it is one of.
            context: The world as the call sees it.
            state: The same rows.
            call_id: The id of this call.
            call: What is asked for.
            evidence: What happened so far.
            service: Whether it is an action of the world, which may fail; what the browser does itself does not.

        Raises:
            InfrastructureError: the tool itself crashed.
        """
        number = self._calls
        self._calls += 1
        refusal = self._refusal(call, number, context.clock) if service else None
        if refusal is not None:
            return self._refuse(context, call_id, call, refusal)
        result = toolbox.call(context, state, call_id, call, evidence.events)
        return self._answer(result, number, context, state, evidence)

    def content(self, call: ToolCall, results: Sequence[CallResult]) -> str:
        """What the agent reads of a call with these results."""
        spelling = self.noise_plan.spelling
        own = call if spelling is None else spelling.read(call)
        return join_answers(results) if own.tool in self.noise_plan.toolbox.composites else results[0].content

    def _refusal(self, own: ToolCall, number: int, clock: Clock) -> Refusal | None:
        """Why the call is not taken, if it is not. Talking and finishing are no service that could fail."""
        noise = self.noise_plan.noise
        if own.tool in KEPT:
            return None
        if noise.rate_limit and (refusal := self._quota.refuse(clock.elapsed)):
            return refusal
        return self._failures.refuse(own, number) if noise.failures else None

    def _refuse(self, context: ToolContext, call_id: str, own: ToolCall, refusal: Refusal) -> CallResult:
        context.begin_call()
        context.clock.advance(refusal.latency)
        plain, toolbox = plain_call(own), self.noise_plan.toolbox
        tool = next((t for t in (*toolbox, *(toolbox.actions or ())) if t.name == own.tool), None)
        fits = tool is not None and tool.fits(own.arguments)
        content = orjson.dumps({"error": {"code": refusal.code, "message": refusal.message}})
        event = ToolEvent(
            call_id=call_id,
            tool=plain.tool,
            arguments=plain.arguments,
            schema_ok=fits,
            semantic_ok=False,
            executed=False,
            result_digest=digest_bytes(content),
            error=refusal.code,
            cost=0,
            latency=refusal.latency,
            duplicate_of=None,
            named=tool.find_ids(own.arguments) if tool is not None and fits else (),
            written=0,
            shown=(),
            mentioned=frozenset(),
        )
        return CallResult(event=event, content=content.decode())

    def _understood(self, call: ToolCall) -> bool:
        """Whether a tool of the agent's names takes these arguments."""
        tools = self.noise_plan.refusing
        return call.tool in tools and tools[call.tool].fits(call.arguments)

    def _answer(
        self, result: CallResult, number: int, context: ToolContext, state: Overlay, evidence: Evidence
    ) -> CallResult:
        """The answer as it reaches the agent, and the event of what the agent learns from it."""
        noise, spelling, event, content = self.noise_plan.noise, self.noise_plan.spelling, result.event, result.content
        extra = self._delay.of(event.latency, number)
        context.clock.advance(extra)
        if event.executed and (noise.stale or noise.caps or noise.injections):
            answer = ToolAnswer(
                body=orjson.loads(content), shown=event.shown, mentioned=event.mentioned, columns=event.columns
            )
            if noise.stale:
                answer = self._lag.shape(answer, event, number, evidence)
            if noise.caps:
                answer = cap_answer(answer)
            if noise.injections:
                answer = self._lures.shape(answer, state)
            event = replace(event, shown=answer.shown, mentioned=answer.mentioned, columns=answer.columns)
            content = orjson.dumps(answer.body).decode()
        if spelling is not None:
            content = spelling.rename_tools_in(content) if event.executed else spelling.rename_all_in(content)
        digest = digest_answer(content.encode(), result.images)
        event = replace(event, latency=event.latency + extra, result_digest=digest)
        return replace(result, event=event, content=content)

    # The world beside it

    def happenings(self, context: ToolContext, state: Overlay, evidence: Evidence) -> Iterator[ToolEvent]:
        """What has happened by itself since the last call, and the end of the episode where its deadline passed.

        Take in each event before asking for the next.
        """
        noise, clock = self.noise_plan.noise, context.clock
        if context.end_reason is not None:
            return
        if noise.events:
            for second in self._world_events.due(clock.elapsed):
                event = self._world_events.happen(second, state, evidence, clock.now)
                if event is not None:
                    yield event
        if noise.deadline and clock.elapsed > noise.deadline:
            context.end(EndReason.DEADLINE)

    # What is known of it

    def report(self, evidence: Evidence) -> dict[str, Any]:
        """Which switches are on, and what came of them so far. It is for trainers: an agent is not told."""
        noise, events = self.noise_plan.noise, evidence.events
        report: dict[str, Any] = {"switches": noise.switches}
        if noise.failures or noise.rate_limit:
            report["refused"] = {c: sum(e.error == c for e in events) for c in sorted(TRANSIENT)}
        if noise.stale:
            report["stale"] = self._lag.count
        if noise.events:
            report["events"] = sum(event.tool == WORLD for event in events)
        if noise.injections:
            followed = {name for event in events if (name := find_obeyed(self.noise_plan.lures, event))}
            report["injections"] = {"shown": sorted(self._lures.shown), "obeyed": sorted(followed)}
        return report

    def snapshot(self) -> NoiseSnapshot:
        """Everything that decides what noise does next, and what it has done."""
        return NoiseSnapshot(
            noise=self.noise_plan.noise,
            calls=self._calls,
            failed=self._failures.save(),
            taken=self._quota.save(),
            until=self._world_events.save(),
            stale=self._lag.save(),
            lures=self._lures.save(),
        )

    def restore(self, snapshot: NoiseSnapshot) -> None:
        """Be as the noise of the same episode was that gave `snapshot`."""
        self._calls = snapshot.calls
        self._failures.load(snapshot.failed)
        self._quota.load(snapshot.taken)
        self._world_events.load(snapshot.until)
        self._lag.load(snapshot.stale)
        self._lures.load(snapshot.lures)
