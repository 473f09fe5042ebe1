"""What trusted callers read of the episode under way: its records, and calls that could be made in it.

Proof, checks, baselines and tests read it. An agent knows the messages alone. Nothing here changes the episode.
"""

from collections.abc import Sequence

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.injections import victim_calls
from palaestra.envs.instance import Instance
from palaestra.envs.world import Surface
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action, StateView
from palaestra.records import ANY_TABLE, EndReason, RowChange, Score, TaskSpec, ToolCall, ToolEvent
from palaestra.seeding import Stream
from palaestra.tools import Tool, legal_call

_ON_SURFACE = 90
"""Percent of random actions that are the surface's own, where it holds something; the others talk and end."""


class EpisodeView:
    """The part of `ToolEnv` that reads its episode.

    All but `offered_tools` and `played_surface` raise `EpisodeOverError` where none has begun.
    """

    _episode: LiveEpisode | None
    _surface: Surface
    _offered: tuple[Tool, ...]

    @property
    def episode(self) -> LiveEpisode:
        """The episode under way.

        Raises:
            EpisodeOverError: none has begun.
        """
        if self._episode is None:
            raise EpisodeOverError("no episode; call env.reset() to begin one")
        return self._episode

    @property
    def task(self) -> TaskSpec:
        """The task being played."""
        return self.episode.instance.spec

    @property
    def instance(self) -> Instance:
        """The task being played, whole: its rubric and oracle too."""
        return self.episode.instance

    def score(self, end: EndReason | None = None) -> Score:
        """The rubric's judgement so far.

        Args:
            end: Judge as if the episode, where it has not ended, were ended from outside here for this reason.

        Raises:
            EpisodeOverError: the world failed in the episode, which is void.
        """
        episode = self.episode
        if episode.faulted:
            raise EpisodeOverError("score after a fault of the world; the episode is void; call env.reset()")
        return episode.score() if end is None or episode.evidence.end is not None else episode.score_ended(end)

    @property
    def counting(self) -> tuple[str, ...]:
        """The criteria that count now: expectations met and prohibitions violated."""
        standing = self.episode.checklist.standing()
        return standing.met + standing.violated

    @property
    def end(self) -> EndReason | None:
        """Why the episode ended; `None` while it runs."""
        return self.episode.evidence.end

    @property
    def state(self) -> StateView:
        """The rows now, to be read."""
        return self.episode.state

    @property
    def events(self) -> tuple[ToolEvent, ...]:
        """One for every call of the episode."""
        return tuple(self.episode.evidence.events)

    @property
    def journal(self) -> tuple[RowChange, ...]:
        """Every write of the episode."""
        return tuple(self.episode.state.journal)

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """The net difference to the rows as they were at the beginning."""
        return self.episode.evidence.changes

    def state_hash(self) -> str:
        """A hash of the rows and nothing but the rows."""
        return self.episode.state.state_hash()

    def digest(self) -> str:
        """A hash of everything in the episode: episodes of equal digests go on alike."""
        return self.episode.digest()

    def anchor(self) -> str:
        """A hash of the rows and the current observation: whether an agent stands at the same place."""
        return self.episode.anchor(self.state_hash())

    def oracle(self) -> tuple[ToolCall, ...]:
        """Calls of this surface that solve the task, as an agent writes them."""
        return self._translate(self.instance.oracle)

    def alternatives(self) -> tuple[tuple[ToolCall, ...], ...]:
        """Other calls that solve it, as its author states them."""
        return tuple(map(self._translate, self.instance.alternatives))

    def victim(self) -> tuple[ToolCall, ...]:
        """Calls of a victim, which works on the task and follows the planted text; the oracle's where none is."""
        return self._translate(self.instance.oracle if self.instance.injection is None else victim_calls(self.instance))

    def _translate(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Calls of the conventional surface in the names of the tools on offer."""
        noise_state, translated = self.episode.noise_state, self._surface.translate(calls, self.instance.initial_state)
        return translated if noise_state is None else noise_state.noise_plan.rename_calls(translated)

    @property
    def played_surface(self) -> Surface:
        """The surface that is played on, under its settings."""
        return self._surface

    @property
    def offered_tools(self) -> tuple[Tool, ...]:
        """The tools on offer, as the agent knows them; noise can make them others with every episode."""
        return self._offered

    def legal_actions(self, count: int = 8, *, seed: int | None = None) -> list[Action]:
        """Calls that fit their schemas and whose ids exist.

        Args:
            count: How many.
            seed: The seed of the draws; `None` draws by where the episode stands, so equal places give equal calls.
        """
        episode = self.episode
        place: tuple[str | int, ...] = ("legal", episode.seed, len(episode.evidence.events), episode.turn)
        stream = Stream.root(*place) if seed is None else Stream.root("legal", seed)
        drawn = (self._draw_legal(stream) for _ in range(count))
        return [{"tool": call.tool, "arguments": dict(call.arguments)} for call in drawn]

    def _draw_legal(self, stream: Stream) -> ToolCall:
        surface = self.episode.surface
        if surface is None:
            return legal_call(self._offered, self.table_ids, stream)
        if stream.chance(_ON_SURFACE):
            return surface.draw_action(self.episode.state, self.table_ids, stream)
        speaking = [tool for tool in self._offered if tool.name in self.instance.world.toolbox]
        return legal_call(speaking, self.table_ids, stream)

    def table_ids(self, table: str) -> Sequence[str]:
        """The ids of a table as it stands; those of all tables for `ANY_TABLE`."""
        state = self.episode.state
        if table != ANY_TABLE:
            return state.keys(table)
        return [key for info in self.instance.world.schema for key in state.keys(info.name)]
