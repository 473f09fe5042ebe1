"""Playing one trajectory: a policy and a world take turns until one of them, or a budget, ends it.

`reference.play` is the simple version, for many episodes in lockstep; given the same turns, both produce the same
record.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from palaestra.errors import ReplayError
from palaestra.records import EndReason
from palaestra.trainers.codec import Codec
from palaestra.trainers.engines.engine import Completion, Engine, Sampling, TurnRequest
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.rephrase import opening_with_solution
from palaestra.trainers.rollouts.script import PartialRollout, Script
from palaestra.trainers.rollouts.world import RolloutWorld
from palaestra.trajectory import Episode
from palaestra.transcript import AgentTranscript

_LIKELIEST = 1e-9
"""A `top_p` that leaves only the likeliest token, in any vocabulary."""


class Player:
    """Plays one job, once.

    Args:
        job: The job.
        world: The world; it belongs to this player until `play` returns, and is unusable if `play` raises.
        engine: The engine that samples the turns.
        codec: The codec of the engine's policy.
        config: How the trajectory is played, and its budgets.
        begun: The saved part, for a trajectory that was saved half-way.
        solution: A solution of the task, for a job whose purpose is "rephrase".
        asked: Creates a context that is entered for every call of the world.

    Raises:
        ValueError: the engine's context is smaller than `config.context`, `begun` belongs to another job, or the job
            rephrases a solution and none is given.
    """

    def __init__(
        self,
        job: RolloutJob,
        world: RolloutWorld,
        engine: Engine,
        codec: Codec,
        config: PlayConfig,
        *,
        begun: PartialRollout | None = None,
        solution: AgentTranscript | None = None,
        asked: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        if config.context > engine.context:
            raise ValueError(
                f"context={config.context}: the engine's trajectories have {engine.context} tokens at most"
            )
        if begun is not None and begun.job != job:
            raise ValueError(f"begun: it is of {begun.job}, not of {job}; give the job what was saved of it")
        if job.purpose == "rephrase" and solution is None:
            raise ValueError(f"solution: {job.trajectory} rephrases one of {job.task}; give it")
        self._job = job
        self._solution = solution if job.purpose == "rephrase" else None
        self._world = world
        self._asked = asked
        self._engine = engine
        self._codec = codec
        self._config = config
        self._rendering = codec.format.rendering()
        before = begun or job.prefix
        self._script = Script(job.trajectory, before.tokens) if before else Script(job.trajectory)
        self._shared = 0 if job.prefix is None else job.prefix.turns
        self._prompt: tuple[int, ...] = ()
        """The tokens that the policy reads instead of the first `_replaced` ones."""
        self._replaced = 0
        self._earlier = begun.seconds if begun else 0.0
        self._clock: Callable[[], float] | None = None

    def partial_rollout(self) -> PartialRollout:
        """The part played so far; available at any time, even after a failure."""
        return PartialRollout(job=self._job, tokens=self._script.tokens(), seconds=self._seconds())

    def _seconds(self) -> float:
        return self._earlier + (0.0 if self._clock is None else self._clock())

    async def play(self) -> Episode:
        """Play the job to its end.

        In every case, cancellation included, the trajectory is released in the engine.

        Returns:
            The episode, with the tokens that the policy read and wrote.

        Raises:
            InfrastructureError: the world or the engine failed; this trajectory must not be trained on. The part
                sampled until then can be continued in another world: `partial_rollout`.
            ReplayError: the world does not answer as it did when the trajectory was saved.
        """
        since = _now()
        self._clock = lambda: _now() - since
        try:
            await self._reset()
            over = False
            while not over:
                drawn = await self._turn()
                if isinstance(drawn, EndReason):
                    with self._asked():
                        await self._world.stop(drawn)
                    break
                over = await self._step(drawn)
            with self._asked():
                episode = await self._world.episode()
            return self._mark(episode)
        finally:
            self._earlier, self._clock = self._seconds(), None
            self._engine.release(self._job.trajectory)

    async def _reset(self) -> None:
        with self._asked():
            opening = await self._world.reset(self._job.task, self._job.seed)
        self._read(self._rendering.opening(opening.messages, opening.tools))
        if self._solution is not None:
            pieces = opening_with_solution(opening.messages, opening.tools, self._solution, self._codec.format)
            self._prompt, self._replaced = tuple(self._codec.encode(pieces)), len(self._script)

    async def _turn(self) -> Completion | EndReason:
        """Sample or replay the next turn; or return the budget that is used up."""
        config = self._config
        if self._job.purpose == "idle":
            return EndReason.MAX_TURNS
        if (recorded := self._script.recorded_turn()) is not None:
            self._wrote(recorded)
            return recorded
        seconds = self._seconds()
        if spent := config.find_spent_budget(tokens=len(self._script), turns=self._script.turns, seconds=seconds):
            return spent
        if self._room() < 1:
            return EndReason.TOKEN_BUDGET
        left = None if config.seconds is None else config.seconds - seconds
        budget = asyncio.timeout(left)
        try:
            async with budget:
                drawn = await self._engine.generate(self._request())
        except TimeoutError:  # from the engine, or from the budget
            if not budget.expired():
                raise
            return EndReason.TIME_BUDGET
        self._wrote(drawn)
        return drawn

    def _wrote(self, drawn: Completion) -> None:
        self._script.wrote(drawn, self._codec.turn(drawn.ids, start=len(self._script)))

    def _context(self) -> tuple[int, ...]:
        """The tokens that the policy reads: its prompt, followed by its own tokens and the world's."""
        return (*self._prompt, *self._script.ids[self._replaced :])

    def _room(self) -> int:
        """The maximum number of tokens of the next turn."""
        more = len(self._prompt) - self._replaced
        return min(self._config.room(len(self._script)), self._engine.context - len(self._script) - more)

    def _request(self) -> TurnRequest:
        config = self._config
        greedy = self._job.purpose == "greedy" or not config.temperature
        return TurnRequest(
            trajectory=self._job.trajectory,
            context=self._context(),
            sampling=Sampling(
                limit=self._room(),
                stop=(self._codec.end_id,),
                temperature=1.0 if greedy else self._script.temperature or config.temperature,
                top_p=_LIKELIEST if greedy else config.top_p,
            ),
            noise=self._job.noise,
            timeout=config.turn_timeout,
            group=self._job.group,
        )

    async def _step(self, drawn: Completion) -> bool:
        """Let the world answer a turn; return whether the episode is over."""
        text = self._rendering.read(self._codec.decode(drawn.ids))
        with self._asked():
            view = await self._world.step(text)
        over = view.end is not None
        replayed = self._script.recorded_turn() is not None or self._script.turns <= self._shared
        cut = [self._codec.format.end] if drawn.stop == "length" else []
        self._read([*cut, *self._rendering.following(view.messages)])
        if over and replayed:
            raise ReplayError(
                f"trajectory {self._job.trajectory}: the episode is over after turn {self._script.turns}, and was not "
                "when it was recorded; the tasks or the world have changed. Play it from its beginning"
            )
        return over

    def _read(self, pieces: Sequence[str]) -> None:
        self._script.read(self._codec.encode(pieces))

    def _mark(self, episode: Episode) -> Episode:
        """The world's record, completed with the names and tokens that the world does not know."""
        (segment,) = episode.segments
        return replace(
            episode,
            agent=self._config.name,
            id=self._job.trajectory,
            group=self._job.group,
            segments=(replace(segment, tokens=self._script.tokens()),),
        )


def _now() -> float:
    return asyncio.get_running_loop().time()
