"""The metadata of parts: where a part plugs in, what it needs, and its sources.

A part is a function, or a frozen dataclass whose fields are its settings and whose call is the function. The decorator
`part` registers it, in this package or in a user's file, and every name in a recipe is looked up here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from palaestra.errors import DefinitionError, UnknownNameError
from palaestra.trainers.objectives.settings import setting_defaults
from palaestra.trainers.presets import Confidence

Plug: TypeAlias = Literal[
    "advantage", "transform", "trust", "correction", "mask", "regulariser", "whole", "reward", "filter",
    "rate", "temperature",
]  # fmt: skip
"""The place of a part in a recipe."""
PLUGS: tuple[Plug, ...] = get_args(Plug)
Denominator: TypeAlias = Literal["survivors", "original"]
"""Whether means are over the tokens that a mask keeps, or over all tokens."""
C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A registered part. Facts in `conflicts` and `needs` are those of `recipe.facts`.

    They have the form `plug/name` or `section.setting=value`; a star matches anything.
    """

    plug: Plug
    name: str
    make: Callable[..., Any]
    """The function itself, or the class whose settings a recipe gives."""
    formula: str
    """The formula in one line, in the notation of docs/objectives.md."""
    sources: tuple[str, ...]
    """Papers and code: `arXiv:2402.03300`, `github.com/owner/name`."""
    confidence: Confidence
    requires: frozenset[str] = frozenset()
    """Columns of the batch that it reads."""
    neutral: Mapping[str, object] | None = None
    """The settings with which it changes nothing, or equals the simpler method in its docstring."""
    conflicts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Facts that it cannot be combined with, each with the reason."""
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Facts that it requires, each with the reason."""
    reinforce: bool = True
    """Whether the gradient is that of REINFORCE, weighted and masked, if all ratios are 1."""
    pulls: bool = True
    """For trust regions: whether it may move tokens whose advantage is 0. If not, a step leaves out trajectories whose
    advantages are all 0, which changes nothing; otherwise it uses every trajectory."""
    denominator: Denominator = "original"
    """For masks: the default denominator of means."""
    each_group: bool = False
    """For filters: whether each group is judged alone, so that another can be drawn to replace it."""

    @property
    def is_function(self) -> bool:
        """Whether it has no settings."""
        return not isinstance(self.make, type)

    @property
    def settings(self) -> dict[str, str]:
        """The names of its settings, each with its default in words."""
        return setting_defaults(self.make)

    @property
    def doc(self) -> str:
        """The first line of its docstring."""
        return (self.make.__doc__ or "").strip().partition("\n")[0]


PARTS: dict[tuple[Plug, str], Part] = {}
"""Every registered part."""


def part(
    plug: Plug,
    name: str,
    *,
    formula: str,
    sources: tuple[str, ...] = (),
    confidence: Confidence = "derived",
    requires: tuple[str, ...] = (),
    neutral: Mapping[str, object] | None = None,
    conflicts: Mapping[str, str] | None = None,
    needs: Mapping[str, str] | None = None,
    reinforce: bool = True,
    pulls: bool = True,
    denominator: Denominator = "original",
    each_group: bool = False,
) -> Callable[[C], C]:
    """Register a function, or a frozen dataclass with a call, as a part; see `Part` for the arguments.

    Raises:
        DefinitionError: the name is taken, or there is no such plug.
    """
    if plug not in PLUGS:
        raise DefinitionError(f"part {name!r}: there is no plug {plug!r}; there are: {', '.join(PLUGS)}")

    def register(make: C) -> C:
        before = PARTS.get((plug, name))
        if before is not None and (before.make.__module__, before.make.__qualname__) != (
            make.__module__,
            make.__qualname__,
        ):
            raise DefinitionError(f"{plug} {name!r} is registered by {before.make.__module__}; choose another name")
        PARTS[plug, name] = Part(
            plug=plug,
            name=name,
            make=make,
            formula=formula,
            sources=sources,
            confidence=confidence,
            requires=frozenset(requires),
            neutral=neutral,
            conflicts=conflicts or {},
            needs=needs or {},
            reinforce=reinforce,
            pulls=pulls,
            denominator=denominator,
            each_group=each_group,
        )
        return make

    return register


def part_of(plug: Plug, name: str) -> Part:
    """The part registered under a name.

    Raises:
        UnknownNameError: there is no such part; the message has near names.
    """
    try:
        return PARTS[plug, name]
    except KeyError:
        known = [other for kind, other in PARTS if kind == plug]
        raise UnknownNameError.of(plug, name, known, "(`palaestra objectives list` lists all)") from None
