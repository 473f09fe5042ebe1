"""`palaestra.make`: `gymnasium.make` with typed settings, which editors complete and type checkers read.

It makes the same environments and checks nothing itself. It also accepts names that are not listed here, since others
may register worlds and formats.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

import gymnasium as gym
from typing_extensions import TypedDict, Unpack

if TYPE_CHECKING:  # importing Palaestra loads nothing that it does not need
    from palaestra.protocols import Action
    from palaestra.records import Message

Env: TypeAlias = "gym.Env[tuple[Message, ...], Action]"
WorldId: TypeAlias = Literal[
    "palaestra/ITDesk-v0", "palaestra/Insurer-v0", "palaestra/Shop-v0", "palaestra/Storefront-v0"
]
BenchmarkId: TypeAlias = Literal[
    "palaestra/ALFWorld-v0",
    "palaestra/AgentDojo-v0",
    "palaestra/AppWorld-v0",
    "palaestra/BFCL-v0",
    "palaestra/BabyAI-v0",
    "palaestra/MiniWoB-v0",
    "palaestra/ScienceWorld-v0",
    "palaestra/Tau2-v0",
    "palaestra/TextWorld-v0",
    "palaestra/Toolathlon-v0",
    "palaestra/WebArenaVerified-v0",
    "palaestra/WebShop-v0",
]
FormatName: TypeAlias = Literal[
    "browsergym",
    "compact",
    "compact-tools",
    "deepseek-v3",
    "deepseek-v31",
    "glm",
    "gpt-oss",
    "hermes",
    "json",
    "kimi-k2",
    "llama3",
    "opaque",
    "planner",
    "planner-qwen",
    "planner-qwen-facts",
    "planner-qwen2.5",
    "planner-qwen2.5-facts",
    "planner-smollm2",
    "planner-smollm2-facts",
    "python",
    "qwen",
    "qwen-facts",
    "qwen-thinking",
    "qwen-thinking-facts",
    "qwen2.5",
    "qwen2.5-facts",
    "qwen3-coder",
    "smollm2",
    "smollm2-described",
    "smollm2-described-facts",
    "smollm2-facts",
    "ui-tars",
]
SurfaceName: TypeAlias = Literal["conventional", "generic", "pages"]
SplitName: TypeAlias = Literal["train", "heldout", "heldout-world", "heldout-family", "heldout-surface"]
WordingName: TypeAlias = Literal["formal", "casual", "verbose", "typos", "garbled"]
TemperName: TypeAlias = Literal["calm", "terse", "heated", "furious"]
DialectChoice: TypeAlias = Literal[
    "plain", "compact", "browsergym", "playwright-mcp", "browser-use", "html", "computer"
]


class NoiseSwitches(TypedDict, total=False):
    """The switches of noise; `palaestra.envs.noise.Noise` says what each does."""

    distractors: int
    renames: bool
    caps: bool
    stale: int
    conflicts: int
    failures: int
    rate_limit: int
    latency: int
    deadline: int
    events: int
    injections: int


class InjectionParts(TypedDict, total=False):
    """Which instruction is planted; parts that are left out are drawn at random."""

    seed: int
    goal: str
    style: str
    carrier: str


class DisturbanceSwitches(TypedDict, total=False):
    """Disturbances between an agent and pages."""

    percent: int
    seed: int
    kinds: Sequence[str]


class PageSwitches(TypedDict, total=False):
    """Settings of the surface "pages"; `palaestra.envs.surfaces.pages.settings.PageSettings` says what each does."""

    dialect: DialectChoice
    budget: int
    extent: Literal["viewport", "page"]
    changes: bool
    depth: int
    renderer: Literal["text", "chromium"]
    marks: bool
    variation: int | str
    disturbances: DisturbanceSwitches


class _NoiseLike(Protocol):
    """A `Noise`, which is defined in a layer above this module."""

    @property
    def switches(self) -> Mapping[str, int | bool]: ...


class _InjectionLike(Protocol):
    """An `InjectionChoice`, which is defined in a layer above this module."""

    @property
    def seed(self) -> int: ...
    @property
    def goal(self) -> str | None: ...


class EnvSettings(TypedDict, total=False):
    """The settings of a world; `palaestra.envs.ToolEnv` says what each does."""

    place: str | None
    split: SplitName | str | None
    task: str | None
    tasks: str | Path | None
    surface: SurfaceName | str | None
    surface_settings: PageSwitches | Mapping[str, Any] | None
    handbook: int
    reward: Literal["checklist", "outcome"]
    action_format: FormatName | str
    max_turns: int | None
    noise: NoiseSwitches | _NoiseLike | None
    user: Literal["scripted"] | Callable[[Any], Any]
    wording: WordingName | None
    temper: TemperName | None
    stakes: bool
    injection: int | str | InjectionParts | _InjectionLike | None
    render_mode: Literal["ansi"] | None


class SynthSettings(EnvSettings, total=False):
    """The settings of generated worlds: one world by its number, or all worlds of a split."""

    world: int
    worlds: int | Sequence[int]
    unlisted: bool


@overload
def make(env_id: Literal["palaestra/Synth-v0"], **settings: Unpack[SynthSettings]) -> Env: ...
@overload
def make(
    env_id: BenchmarkId,
    *,
    split: str | None = None,
    category: str | None = None,
    task: str | None = None,
    action_format: FormatName | str = "hermes",
    max_turns: int | None = None,
    seconds: float = 120.0,
    render_mode: Literal["ansi"] | None = None,
    **options: Any,
) -> Env: ...
@overload
def make(env_id: WorldId | str, **settings: Unpack[EnvSettings]) -> Env: ...
def make(env_id: str, **settings: Any) -> Env:
    """Make an environment, as `gymnasium.make` does.

    Args:
        env_id: The registered id, such as "palaestra/Storefront-v0".
        settings: Arguments of the environment: see `palaestra.envs.ToolEnv` for worlds, `EnvSettings` for their types.
            Any: the environment checks them.

    Returns:
        The environment that `gymnasium.make` returns; `env.unwrapped` has snapshots, forks and digests.

    Raises:
        gymnasium.error.Error: no environment has that id.
        UnknownNameError: there is no such task, split, format or other name.
        TypeError: there is no such setting.
        ValueError: a setting cannot have that value.
    """
    return gym.make(env_id, **settings)
