"""Scripted agents by word: the oracle, which shows the maximum, and the floors, which know nothing of the task."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palaestra.agents import (
    AlwaysRefuse,
    Env,
    JunkText,
    LegalRandom,
    PatientAgent,
    ReadOnlyAgent,
    SchemaRandom,
    finish_at_once,
    no_op,
    oracle,
)
from palaestra.agents.search import LegalProposer, RequestCoverage, TreeSearchAgent
from palaestra.benchmarks.evaluation.agents.agent import (
    PRIVILEGED,
    AgentSession,
    EvaluatedEpisodeAgent,
    NoReferenceSolution,
)
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError
from palaestra.proof.baselines import baselines
from palaestra.protocols import Action, Agent
from palaestra.records import JsonObject, ToolCall


class EvaluatedScript(EvaluatedEpisodeAgent):
    """An agent that is bundled with Palaestra.

    Args:
        word: One of `AGENT_NAMES`.
    """

    def __init__(self, word: str) -> None:
        self.name = word
        self._make = AGENT_NAMES[word]

    def describe(self) -> JsonObject:
        """Its name, and whether it forks its world."""
        forks: JsonObject = {PRIVILEGED: True} if self.name in _PRIVILEGED else {}
        return {"kind": "scripted", "agent": self.name, **forks}

    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        """A new agent."""
        del left
        # Any: `gym.make` does not declare what Palaestra's environments add to Gymnasium's interface.
        world: Any = env.unwrapped
        return AgentSession(self._make(world))


def _oracle(world: Any) -> Agent:
    """The task's reference solution, which retries calls that were refused only for the moment."""
    return PatientAgent(oracle(lambda: _solution(world)))


def _solution(world: Any) -> Sequence[Action | ToolCall]:
    calls: Sequence[Action | ToolCall] | None = world.oracle()
    if calls is None:
        raise NoReferenceSolution(
            f"no gold: {world.task.id} has no solution of its own, so the oracle cannot play it and has no score there"
        )
    return calls


def _victim(world: Any) -> Agent:
    """Follows a planted instruction as soon as it has read it; without one, plays the reference solution."""
    if not isinstance(world, ToolEnv):
        raise ConfigError("victim: it follows planted instructions, and this world has none; choose another agent")
    return PatientAgent(oracle(world.victim))


def _always_refuse(world: Any) -> Agent:
    """Refuses; if a world does not say which tool refuses a request, it only apologises."""
    return baselines(world)["always-refuse"] if isinstance(world, ToolEnv) else AlwaysRefuse(lambda _, __: ())


def _reader(world: Any) -> Agent:
    """Looks things up; if a world does not say which tools do that, it finishes at once."""
    return baselines(world)["reader"] if isinstance(world, ToolEnv) else ReadOnlyAgent(lambda _: ())


def _search(world: Any) -> Agent:
    """Random proposals, valued by how much of the request pages and records have shown."""
    if not isinstance(world, ToolEnv):
        raise ConfigError(
            "search: it forks the world that it acts in, and this one cannot be forked; choose another agent"
        )
    return TreeSearchAgent(lambda: world, propose=LegalProposer(), value=RequestCoverage())


def _schema_random(world: Any) -> Agent:
    return _SpaceRandom(world)


class _SpaceRandom(SchemaRandom):
    """Draws from the world's current action space, since some worlds change their tools during an episode.

    Args:
        world: The world.
    """

    def __init__(self, world: Any) -> None:
        super().__init__(self._draw, self._set_seed)
        self._world = world
        self._space: object = None
        self._seed = 0

    def _set_seed(self, seed: int) -> None:
        self._seed, self._space = seed, None

    def _draw(self) -> Action:
        space = self._world.action_space
        if space is not self._space:
            space.seed(self._seed)
            self._space, self._seed = space, self._seed + 1
        action: Action = space.sample()
        return action


AGENT_NAMES: Mapping[str, Callable[[Any], Agent]] = {
    "always-refuse": _always_refuse,
    "finish-at-once": lambda _: finish_at_once(),
    "junk": lambda _: JunkText(),
    "no-op": lambda _: no_op(),
    "oracle": _oracle,
    "random": lambda world: LegalRandom(world.legal_actions),
    "reader": _reader,
    "schema-random": _schema_random,
    "search": _search,
    "victim": _victim,
}
"""The function that makes each word's agent from a world. Any: as above."""
_PRIVILEGED = frozenset({"search"})
"""The words of agents that try actions in forks of the world first."""
