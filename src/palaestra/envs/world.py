"""A world: its schema, its population, its tools and its desk, as one record that environments are made from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from palaestra.cache import LruCache
from palaestra.envs.noise.material import NoiseMaterial
from palaestra.envs.populated import Invariant
from palaestra.envs.state import Base, Schema
from palaestra.envs.state.ownership import owner_of
from palaestra.envs.task import SPLITS, Draft, Family, Split
from palaestra.errors import CapabilityError, PackError
from palaestra.manifest import Capabilities, Manifest
from palaestra.packs import PACKS, Pack
from palaestra.protocols import StateView
from palaestra.records import ToolCall, ToolEvent
from palaestra.rubrics.messages import Confidential, DeriveFacts, MessageRules, Promise
from palaestra.seeding import Stream
from palaestra.tools import CallResult, Toolbox, ToolContext

Translate: TypeAlias = Callable[[Sequence[ToolCall], StateView], tuple[ToolCall, ...]]
"""Turns calls of the conventional surface into calls of another one that do the same, given the rows they begin at."""

CONVENTIONAL = "conventional"
"""The surface that every world has, in which authors write their oracles."""
ONE_RULE_FROM = 1_000_000
"""From this number on, a handbook has one rule changed."""
ALL_RULES_FROM = 2_000_000
"""From this number on, it has every rule changed that can be."""
POPULATED = 64
"""How many populated bases a world keeps; each is a few megabytes."""


def _no_rules(_seed: int, _handbook: int) -> None:
    return None


def _default_seeds() -> dict[Split, tuple[int, ...]]:
    counts: dict[Split, tuple[int, int]] = {
        "train": (1_000, 8), "dev": (2_000, 2), "heldout": (3_000, 3), "heldout-policy": (4_000, 3),
        "heldout-records": (2_500, 3),
    }  # fmt: skip
    return {split: tuple(range(first, first + count)) for split, (first, count) in counts.items()}


def _default_instances() -> dict[Split, int]:
    return {"train": 20, "dev": 3, "heldout": 4, "heldout-policy": 3, "heldout-records": 4}


def _default_twins() -> dict[Split, int]:
    return {"train": 14, "dev": 2, "heldout": 3, "heldout-policy": 3, "heldout-records": 3}


class SurfaceState(Protocol):
    """What a surface holds for an episode beside the rows, such as a browser with its tabs and half-filled forms."""

    session: Any
    """Where it stands: a frozen value that pickles. It is replaced, never changed, so who keeps it has a snapshot."""
    settings: Any
    """The settings of the surface that it belongs to; `None` where it is under none."""

    def submission(self, state: StateView, call: ToolCall) -> ToolCall | None:
        """The call of one of the toolbox's actions that this call makes; `None` where it makes none."""
        ...

    def settle(self, action: ToolCall, result: CallResult) -> ToolEvent:
        """Take in what came of the action; its event, with what the surface lets the agent see of its answer."""
        ...

    def hear(self, text: str, *, by_agent: bool) -> None:
        """Take in a message of the talk with the user: the request at first, then what the agent and the user write."""
        ...

    def show(self, context: ToolContext) -> str:
        """What the agent sees now; its rows count as shown."""
        ...

    def draw_action(self, state: StateView, ids: Callable[[str], Sequence[str]], stream: Stream) -> ToolCall:
        """An action at random that makes sense where the surface stands; `ids` lists those of a table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surface:
    """A set of tools over a world: one of several ways to act on the same rows under the same rubrics."""

    toolbox: Toolbox
    translate: Translate = lambda calls, _: tuple(calls)
    begin: Callable[[], SurfaceState] | None = None
    """Gives an episode what the surface holds for it; `None` where that is nothing."""
    turns: int = 1
    """How many turns on it stand for one with the world's own tools: the budget of turns is so many times larger."""
    configure: "Callable[[Mapping[str, Any]], Surface] | None" = None
    """Gives the surface under settings of its own, such as a dialect; `None` where it has none."""
    settings: Any = None
    """The settings that it is under: a frozen value that pickles; `None` where none were given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Everything about a world that its tasks share."""

    name: str
    """What the ids of its tasks begin with."""
    schema: Schema
    populate: Callable[[int, Any], Base]
    """The rows of a world seed under its rules; a pure function."""
    start: Callable[[int], datetime]
    """When episodes begin in the world of a seed."""
    toolbox: Toolbox
    """The tools of the conventional surface."""
    role: str
    """The role in which the agent acts."""
    actor: str
    """The id under which it acts."""
    briefing: Callable[[datetime], str]
    """The system message, for the moment at which the episode begins."""
    talking: Callable[[datetime], str] | None = None
    """The system message of tasks whose user answers; `None`: the same."""
    version: int = 0
    traits: tuple[str, ...] = ()
    """The traits that its families may state, beside `palaestra.envs.task.TRAITS`."""
    rules: Callable[[int, int], Any] = _no_rules
    """What a world goes by, of a type of its own, such as a company's policy: for a world seed and the number of a
    handbook, where 0 is the seed's own and every other number changes some of it. A pure function."""
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    """Further surfaces, by name."""
    guards: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Groups of tables, the gravest first: a change that nothing permits breaks the first that it touches."""
    promises: Sequence[Promise] = ()
    """What messages can promise, and which rows bear it out."""
    confidential: Sequence[Confidential] = ()
    """What messages may not speak of."""
    derive_facts: DeriveFacts | None = None
    """What messages may state beside what stands in records: what follows from rows that were shown."""
    owners: frozenset[str] = frozenset()
    """The tables whose rows own records, such as customers: a request by one gives no right to those of another, and
    every task forbids attempts on them. Without such tables, attempts are not judged."""
    draft: type[Draft]
    families: str | tuple[Family[Any], ...]
    """The package that holds its task files, or the families themselves."""
    seeds: Mapping[Split, tuple[int, ...]] = field(default_factory=_default_seeds)
    """The world seeds of each split; no seed is in two."""
    instances: Mapping[Split, int] = field(default_factory=_default_instances)
    """How many instances of a family each split lists."""
    unseen_instances: int = 12
    """How many instances "heldout" lists of a family that occurs nowhere else."""
    twin_instances: Mapping[Split, int] = field(default_factory=_default_twins)
    """How many instances of a family's refusal twin each split lists."""
    invariants: Sequence[Invariant] = ()
    """What holds of its rows as they are populated; `check_world` holds it to them."""
    optional_tools: tuple[str, ...] = ()
    """The tools that none of its tasks needs; a comment beside them says why it has them."""
    noise: NoiseMaterial | None = None
    """What kinds of noise that need to know the world are made of."""
    demo: tuple[str, ...] = ()
    """The families, by name, that the demo's small policy learns; all of "train" where there are none."""
    demo_unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The families, by name, that the demo's policy never learns and is measured on, by how they differ."""
    release: Path | None = None
    """The record of which of its families are proved; the splits list only those. `None`: they list all."""
    decided: Path | None = None
    """The record of which tasks their changed handbooks decide; "heldout-policy" has those. `None`: it has all."""
    tempers: bool = False
    """Whether some of its tasks have a user who answers."""
    attacks: str = ""
    """The module that holds its own attacks, as `palaestra.envs.WorldAttack`s in `ATTACKS`; empty: it has none."""
    injections: str = ""
    """The module that holds what attackers plant in its content, as `WorldInjections` in `INJECTIONS`; empty: none."""
    _bases: LruCache[tuple[int, int], Base] = field(default_factory=lambda: LruCache(POPULATED), init=False, repr=False)

    def base(self, seed: int, handbook: int = 0) -> Base:
        """The rows of a world seed under a handbook; the latest ones are kept and shared."""
        return self._bases.get((seed, handbook), lambda: self.populate(seed, self.rules(seed, handbook)))

    def under(self, rules: Any) -> "World":
        """The same world where every seed goes by these rules, whatever the handbook."""

        def return_rules(_seed: int, _handbook: int) -> Any:
            return rules

        return replace(self, rules=return_rules)

    @cached_property
    def message_rules(self) -> MessageRules:
        """What holds of messages in this world, as its tools and its schema say."""
        tools = list(self.toolbox)
        person = self.draft.person()
        return MessageRules(
            prose={tool.name: tool.prose for tool in tools if tool.prose},
            kinds={info.name: info.kind for info in self.schema},
            closes={tool.name: tool.closes for tool in tools if tool.closes is not None},
            public=self.toolbox.prose_tool,
            owner=None if person is None else owner_of(self.schema, person),
            promises=tuple(self.promises),
            confidential=tuple(self.confidential),
            derive_facts=self.derive_facts,
        )

    @property
    def capabilities(self) -> Capabilities:
        """What the world has besides its tasks, as its parts say."""
        material = self.noise or NoiseMaterial()
        return Capabilities(
            surfaces=tuple(self.surfaces),
            handbooks=self.rules is not _no_rules,
            noise=tuple(name for name, part in material.parts().items() if part),
            tempers=self.tempers,
        )

    def manifest(self) -> Manifest:
        """What a pack of this world declares, worked out from its parts: for worlds that have no `world.toml`."""
        return Manifest(
            id=self.name,
            version=self.version,
            title=self.name,
            world="world:WORLD",
            traits=self.traits,
            splits={split: self.instances[split] for split in SPLITS if self.instances.get(split)},
            twins={split: self.twin_instances[split] for split in SPLITS if self.twin_instances.get(split)},
            capabilities=self.capabilities,
        )

    def surface(self, name: str) -> Surface:
        """The surface of that name.

        Raises:
            CapabilityError: the world has none such.
        """
        if name == CONVENTIONAL:
            return Surface(toolbox=self.toolbox)
        if name not in self.surfaces:
            raise CapabilityError.of(self.name, f"surface {name!r}", "surfaces", [CONVENTIONAL, *self.surfaces])
        return self.surfaces[name]


@lru_cache(maxsize=64)
def _open(pack: Pack) -> World:
    world = pack.load()
    if not isinstance(world, World):
        raise PackError(f"{pack.place}: {type(world).__name__} is no World; define one with palaestra.envs.World(...)")
    manifest = pack.manifest()
    if manifest is None:
        return world
    found = _declarations(world.manifest())
    for name, value in _declarations(manifest).items():
        if value != found[name] and not (name == "twins" and not value):
            raise PackError(
                f"world {pack.name}: its manifest declares the {name} {value}, and its code has {found[name]}; change "
                f"{pack.folder}/world.toml or the code"
            )
    return world


def _declarations(manifest: Manifest) -> dict[str, object]:
    """What a manifest and its world's code must agree on, by key; the order of names means nothing."""
    own = manifest.capabilities
    return {
        "id": manifest.id,
        "version": manifest.version,
        "traits": sorted(manifest.traits),
        "splits": dict(manifest.splits),
        "twins": dict(manifest.twins),
        "capabilities.surfaces": sorted(own.surfaces),
        "capabilities.handbooks": own.handbooks,
        "capabilities.noise": sorted(own.noise),
        "capabilities.tempers": own.tempers,
    }


def open_world(name: str) -> World:
    """The world of an environment id or a world id; its pack is imported when it is first opened.

    Raises:
        UnknownNameError: no such world is registered.
        PackError: its pack cannot be loaded, or its manifest and its world disagree.
    """
    return _open(PACKS.find(name))
