"""A chain of words to be guessed one after the other: one wrong word ends it, and only the whole chain is solved.

State: the place. Actions: one of `WORDS`. Observation: the chain's number and the place. Reward: 10 points for each
right word. Ends: a wrong word, or the last right one. Which word is right follows from chain and place alone.
"""

from typing import Any

import gymnasium as gym

from palaestra.protocols import Action
from palaestra.records import LAYERS, EndReason, Features, Message, Score, Standing, TaskSpec
from palaestra.seeding import Stream
from palaestra.steps import ResetRecord, Returned, StepRecord

CHAIN_ID = "test/Chain-v0"
WORDS = ("finish", "reply", "renew", "lend")
LINKS = 10
_POINTS = 10


def right_word(chain: int, place: int) -> str:
    """The word that goes on."""
    return Stream.root("chain", chain, place).choice(WORDS)


class ChainEnv(gym.Env[tuple[Message, ...], Action]):
    """One chain an episode; its number is the task's index."""

    def __init__(self, **switches: object) -> None:
        del switches

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[tuple[Message, ...], dict[str, Any]]:
        del seed
        self._task = _spec(options["task"])
        self._place = 0
        return ResetRecord(
            messages=(self._told(),), tools=[], task=self._task, rubric=(), seed=0, state_hash="", anchor=""
        ).to_gymnasium()

    @property
    def _chain(self) -> int:
        return int(self._task.id.rpartition("/")[2])

    def _told(self) -> Message:
        return Message(role="user", content=f"chain {self._chain} link {self._place}")

    def step(self, action: Action) -> Returned:
        right = right_word(self._chain, self._place) in str(action)
        self._place += right
        end = EndReason.FINISHED if not right or self._place == LINKS else None
        return StepRecord(
            messages=(self._told(),),
            reward=float(_POINTS * right),
            task=self._task,
            calls=(),
            unreadable=None,
            events=(),
            changes=(),
            standing=Standing(points=self._points, components=self._components, met=(), violated=()),
            end=end,
            score=self.score(end) if end is not None else None,
            user=None,
            state_hash="",
            anchor="",
        ).to_gymnasium()

    @property
    def _points(self) -> int:
        return _POINTS * self._place

    @property
    def _components(self) -> dict[Any, int]:
        return {layer: self._points if layer == "outcome" else 0 for layer in LAYERS}

    def score(self, reason: EndReason) -> Score:
        """The judgement, however it ends."""
        del reason
        return Score(
            points=self._points,
            total=_POINTS * LINKS,
            passed=self._place == LINKS,
            verdicts={},
            components=self._components,
        )


def _spec(task: str) -> TaskSpec:
    return TaskSpec(
        id=task,
        family="chain/guess",
        split="train",
        level=1,
        traits=(),
        unseen=False,
        world_seed=0,
        max_turns=LINKS,
        oracle_calls=LINKS,
        features=Features(hops=0, entities=0, exceptions=0, writes=0, messages=0),
    )


def register() -> None:
    """Let `gymnasium.make` know it; again does nothing."""
    if CHAIN_ID not in gym.registry:
        gym.register(  # pyright: ignore[reportUnknownMemberType]
            CHAIN_ID, entry_point=ChainEnv, disable_env_checker=True, order_enforce=False
        )
