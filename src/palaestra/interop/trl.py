"""Worlds for TRL's `GRPOTrainer(environment_factory=...)`.

    World = environment_class(lambda: palaestra.make("palaestra/Storefront-v0"))
    rows = Dataset.from_list(prompt_rows(World, range(64)))
    trainer = GRPOTrainer(..., environment_factory=World, train_dataset=rows)

Turns
    Each call of a message is a separate turn, in order, since TRL calls methods one by one.
Ends
    TRL knows no end except a message without a call. After the world's end, a tool answers that the episode is over. An
    episode that a policy leaves before its end is judged as unfinished.
Void
    After a fault of the world, tools report it and `get_reward` returns `None`. TRL leaves such a rollout out of the
    baseline and gives it no advantage.
Not passed on
    Calls of unknown tools, and text without a call: TRL answers the former itself and ends the rollout at the latter.
    Tools that change during an episode raise `CapabilityError`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from palaestra.errors import CapabilityError, ConfigError, InfrastructureError
from palaestra.interop.episode import AdaptedEpisode, EnvMaker
from palaestra.interop.signatures import sign
from palaestra.records import JsonSchema, Message
from palaestra.tools import to_openai

_OVER = '{"error":{"code":"episode_over","message":"The episode is over. Write no more calls."}}'
_VOID = '{"error":{"code":"void","message":"The environment failed. The episode does not count."}}'
_RESERVED = frozenset({"reset", "get_reward"})


class TrlEnvironment:
    """One rollout's environment. `environment_class` makes subclasses, which have the tools as public methods.

    TRL creates instances, resets and reuses them. Only the methods of tools, `reset` and `get_reward` are public,
    because TRL offers every other public method to the policy as a tool.
    """

    _make_env: ClassVar[Any]  # an EnvMaker, which type checkers would take for a method
    _tools: ClassVar[tuple[JsonSchema, ...]]

    def __init__(self) -> None:
        self._episode = AdaptedEpisode(type(self)._make_env())

    @property
    def episode(self) -> AdaptedEpisode:
        """The episode, for programs."""
        return self._episode

    def reset(self, *, seed: int, prompt: Sequence[Mapping[str, Any]] | None = None, **columns: Any) -> None:
        """Begin the episode of a row of the data set.

        Args:
            seed: The seed of the episode.
            prompt: The row's messages, which are compared with those of the episode.
            columns: Further columns, which are ignored. Any: the data set's.

        Raises:
            ConfigError: the prompt belongs to another episode.
            CapabilityError: the episode has other tools than the class.
        """
        del columns
        try:
            opening = self._episode.begin(seed=seed)
        except InfrastructureError:
            return  # `get_reward` returns None
        if prompt is not None and not _is_same_chat(opening, prompt):
            raise ConfigError(f"seed={seed}: the prompt of this row opens another episode; make rows by prompt_rows")
        self._check_tools(seed)

    def get_reward(self) -> float | None:
        """The score, 1.0 for a solved task; `None` if the episode is void.

        Raises:
            ConfigError: a server hides rewards.
        """
        try:
            return self._episode.reward()
        except InfrastructureError:
            return None

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        episode = self._episode
        if episode.fault is not None:
            return _VOID
        if episode.is_over:
            return _OVER
        try:
            messages = episode.act({"tool": tool, "arguments": dict(arguments)})
        except InfrastructureError:
            return _VOID
        if not episode.is_over:
            self._check_tools(None)
        return "\n".join(message["content"] for message in messages)

    def _check_tools(self, seed: int | None) -> None:
        if self._episode.tools != self._tools:
            where = "on the way" if seed is None else f"for seed={seed}"
            raise CapabilityError(
                f"the tools change {where}, and TRL offers the tools of a class; switch off noise that changes tools"
            )


def environment_class(make_env: EnvMaker, *, name: str = "PalaestraWorld") -> type[TrlEnvironment]:
    """A class for `environment_factory`: the tools of a world as methods, `reset` and `get_reward`.

    Args:
        make_env: Makes an environment: once for the tools, and once for each rollout of a batch.
        name: The name of the class, under which TRL logs the reward.

    Raises:
        CapabilityError: a tool has a name that TRL reserves.
        InfrastructureError: the world cannot be reached.
    """
    probe = AdaptedEpisode(make_env())
    probe.begin(seed=0)
    tools = probe.tools
    probe.close()
    methods: dict[str, Any] = {}
    for tool in tools:
        named = str(tool["function"]["name"])
        if named in _RESERVED or named.startswith("_") or not named.isidentifier():
            raise CapabilityError(f"the tool {named!r} cannot be a method of a TRL environment; rename it")
        methods[named] = sign(_method(named), tool)
    members: dict[str, Any] = {
        "__doc__": "A world of Palaestra's.",
        "_tools": tools,
        "_make_env": staticmethod(make_env),
    }
    return type(name, (TrlEnvironment,), {**members, **methods})


def prompt_rows(environment: type[TrlEnvironment], seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Rows for `datasets.Dataset.from_list`, one for each seed: the messages that open its episode, and the seed.

    Args:
        environment: The result of `environment_class`.
        seeds: The seeds of the episodes.

    Raises:
        InfrastructureError: the world failed.
    """
    episode = AdaptedEpisode(environment._make_env())
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        rows.append({"prompt": to_openai(episode.begin(seed=seed)), "seed": seed})
    episode.close()
    return rows


def _method(tool: str) -> Callable[..., str]:
    def call(self: TrlEnvironment, **arguments: Any) -> str:
        return self._call(tool, arguments)

    return call


def _is_same_chat(opening: Sequence[Message], prompt: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a prompt opens an episode; a data set adds columns without a value to its messages."""
    said = [(message["role"], message["content"]) for message in to_openai(opening)]
    return said == [(message["role"], message["content"]) for message in prompt]
