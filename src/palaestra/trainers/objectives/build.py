"""An objective built from settings: every part looked up, its settings read, and what does not go together refused."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from palaestra.digest import digest
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.objectives import (
    advantages,
    corrections,
    filters,
    masks,
    rates,
    regularisers,
    rewards,
    transforms,
    trust,
    whole,
)
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.composed import Composed, Masking
from palaestra.trainers.objectives.objective import Objective
from palaestra.trainers.objectives.part import TO_BE_SAID, Denominator, Part, Plug, part_of
from palaestra.trainers.objectives.parts import Filter, Requiring, Reward, Stateful, Valued, WholeLoss
from palaestra.trainers.objectives.recipe import Recipe, Spec, named, over, preset
from palaestra.trainers.objectives.term import Term
from palaestra.trainers.objectives.whole.objective import Whole

ROOMS = (advantages, corrections, filters, masks, rates, regularisers, rewards, transforms, trust, whole)
"""Whose parts are registered, because they are imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveConfig:
    """What is trained towards: a preset, and what is different from it."""

    preset: str = "grpo"
    imports: tuple[str, ...] = ()
    """Modules, or files that end in .py, which register parts of one's own."""
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sections of a recipe that are laid over the preset's."""

    def __post_init__(self) -> None:
        self.built()

    def recipe(self) -> Recipe:
        """The whole recipe.

        Raises:
            ConfigError: no preset is called so, or a section is unknown or makes no sense.
        """
        try:
            table = over(preset(self.preset).recipe, self.parts)
        except UnknownNameError as error:
            raise ConfigError(str(error)) from error
        return read_recipe(table)

    def built(self) -> "Built":
        """What the settings describe; raises as `build` does."""
        for module in self.imports:
            imported(module)
        return build(self.recipe())


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A recipe, built."""

    recipe: Recipe
    objective: Objective
    rewards: tuple[Reward, ...]
    filters: tuple[Filter, ...]
    parts: tuple[Part, ...]
    """What is known of every part, in the recipe's order."""

    @property
    def critic(self) -> Valued | None:
        """The advantage, where it needs a critic."""
        if isinstance(self.objective, Composed) and isinstance(self.objective.advantage, Valued):
            return self.objective.advantage
        return None

    @property
    def requires(self) -> frozenset[str]:
        """The columns that something of it reads."""
        others = (one.requires for one in self.parts if one.plug in ("reward", "filter"))
        return self.objective.requires.union(*others)

    def state(self) -> dict[str, object]:
        """What later batches depend on beside weights, as plain JSON."""
        rewards = {f"reward/{n}": one.state() for n, one in enumerate(self.rewards) if isinstance(one, Stateful)}
        return {**rewards, "objective": dict(self.objective.state())}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.objective.restore(state["objective"])
        for number, one in enumerate(self.rewards):
            if isinstance(one, Stateful):
                one.restore(state[f"reward/{number}"])


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")
    recipe: Recipe


def read_recipe(table: Mapping[str, Any]) -> Recipe:
    """A recipe from a table of sections.

    Raises:
        ConfigError: a section is unknown, or is not what it should be.
    """
    try:
        return _Table.model_validate({"recipe": table}).recipe
    except ValidationError as error:
        raise ConfigError(f"objective: {'; '.join(map(_told, error.errors()))}") from error


def build(recipe: Recipe) -> Built:
    """The objective that a recipe describes.

    Raises:
        ConfigError: a part is unknown, a setting of it is not what it should be, or two parts do not go together; the
            message says why.
    """
    parts = tuple(_part(plug, name) for plug, name, _ in recipe.specs())
    _check(recipe, parts)
    return Built(
        recipe=recipe,
        objective=_composed(recipe, parts) if recipe.whole is None else _whole(recipe, recipe.whole, parts),
        rewards=tuple(_made("reward", spec) for spec in recipe.rewards),
        filters=tuple(_made("filter", spec) for spec in recipe.filters),
        parts=parts,
    )


def _composed(recipe: Recipe, parts: tuple[Part, ...]) -> Composed:
    return Composed(
        advantage=_made("advantage", recipe.advantage),
        transforms=tuple(_made("transform", spec) for spec in recipe.transforms),
        ratio=recipe.ratio,
        trust=_made("trust", recipe.trust),
        corrections=tuple(_made("correction", spec) for spec in recipe.corrections),
        masks=tuple(map(_masking, recipe.masks)),
        terms=tuple(map(_term, recipe.regularisers)),
        aggregation=recipe.aggregation,
        rates=tuple(_made("rate", spec) for spec in recipe.rates),
        requires=recipe.ratio.requires().union(*(one.requires for one in parts)),
        pulls=any(one.pulls for one in parts),
    )


def _whole(recipe: Recipe, spec: Spec, parts: tuple[Part, ...]) -> Whole:
    loss: WholeLoss = _made("whole", spec)
    reads = [_reads(loss, one) if one.plug == "whole" else one.requires for one in parts]
    return Whole(
        loss=loss,
        terms=tuple(map(_term, recipe.regularisers)),
        aggregation=recipe.aggregation,
        requires=frozenset({"now_T"}).union(*reads),
    )


def _reads(made: object, part: Part) -> frozenset[str]:
    """The columns that a part reads, with the settings that it has."""
    return made.requires if isinstance(made, Requiring) else part.requires


def _masking(spec: Spec) -> Masking:
    name, settings = named(spec)
    settings = dict(settings)
    denominator = settings.pop("denominator", part_of("mask", name).denominator)
    if denominator not in (known := get_args(Denominator)):
        raise ConfigError(f"mask {name}: denominator={denominator!r}; means are over one of {', '.join(known)}")
    return Masking(mask=_made("mask", {"part": name, **settings}), denominator=denominator)


def _term(spec: Spec) -> Term:
    name, settings = named(spec)
    settings = dict(settings)
    said = settings.pop("aggregation", None)
    aggregation = None if said is None else TypeAdapter(Aggregation).validate_python(said)
    return Term(regulariser=_made("regulariser", {"part": name, **settings}), aggregation=aggregation)


def _part(plug: Plug, name: str) -> Part:
    try:
        return part_of(plug, name)
    except UnknownNameError as error:
        raise ConfigError(str(error)) from error


def _made(plug: Plug, spec: Spec) -> Any:
    """The part itself, with its settings."""
    name, settings = named(spec)
    found = _part(plug, name)
    make: Any = found.make  # Any: a function, or a dataclass of anybody's
    known = list(found.settings)
    for setting in settings:
        if setting not in known:
            near = get_close_matches(setting, known, n=1)
            way_out = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"
            raise ConfigError(f"{plug} {name}: unknown setting {setting!r}; {way_out}")
    if found.is_function:
        return make
    for setting, default in found.settings.items():
        if default == TO_BE_SAID and setting not in settings:
            raise ConfigError(f"{plug} {name}: {setting} has no default; say it (`palaestra objectives show {name}`)")
    hints = get_type_hints(make)
    try:
        return make(**{key: TypeAdapter(hints[key]).validate_python(value) for key, value in settings.items()})
    except ValidationError as error:
        raise ConfigError(f"{plug} {name}: {'; '.join(_told(fault) for fault in error.errors())}") from error
    except ValueError as error:
        raise ConfigError(f"{plug} {name}: {error}") from error


def _told(fault: ErrorDetails) -> str:
    place = ".".join(map(str, fault["loc"]))
    return f"{place + ': ' if place else ''}{fault['msg']} (it is {fault['input']!r})"


def _check(recipe: Recipe, parts: tuple[Part, ...]) -> None:
    """Refuse what does not go together."""
    facts = recipe.facts()
    for one in parts:
        own = f"{one.plug}/{one.name}"
        for pattern, reason in one.conflicts.items():
            for fact in sorted(facts - {own}):
                if fnmatchcase(fact, pattern):
                    raise ConfigError(f"{one.plug} {one.name} does not go with {fact}: {reason}")
        for pattern, reason in one.needs.items():
            if not any(fnmatchcase(fact, pattern) for fact in facts):
                raise ConfigError(f"{one.plug} {one.name} needs {pattern}: {reason}")
        for column in sorted(one.requires):
            if column not in COLUMNS:
                raise ConfigError(
                    f"{one.plug} {one.name} reads {column}, which nobody fills in; there are: {', '.join(COLUMNS)}"
                )
    for pattern, other, reason in RULES:
        if any(fnmatchcase(fact, pattern) for fact in facts) and any(fnmatchcase(fact, other) for fact in facts):
            raise ConfigError(f"{pattern} does not go with {other}: {reason}")


RULES = (
    (
        "ratio.granularity=product",
        "trust/clip",
        "a product of a trajectory's ratios leaves any clip's bounds at once; take trust/vespo or trust/unclipped",
    ),
    (
        "ratio.granularity=sequence",
        "aggregation=token-mean",
        "every trajectory's ratio would count once for each token",
    ),
    ("ratio.granularity=sequence", "aggregation=token-sum", "every trajectory's ratio would count once for each token"),
    ("schedule=turns", "ratio.granularity=token", "its steps are bounded by the ratio of a whole turn (GSPO)"),
    ("schedule=turns", "ratio.granularity=product", "its steps are bounded by the ratio of a whole turn (GSPO)"),
    ("schedule=turns", "ratio.anchor=rollout", "each turn's step is held to the weights that it begins with"),
    ("schedule=turns", "ratio.anchor=none", "each turn's step is held to the weights that it begins with"),
    ("schedule=turns", "whole/*", "a turn is updated by itself"),
    ("schedule=turns", "advantage/history", "every turn's step would count as another visit of the task"),
    ("whole/*", "correction/*", "it replaces ratio, trust region, corrections and masks"),
    ("whole/*", "mask/*", "it replaces ratio, trust region, corrections and masks"),
    ("whole/*", "transform/*", "it reads returns, and no advantages"),
    ("whole/*", "rate/*", "it has no importance weights to look at"),
)
"""What does not go together, whichever parts there are: two patterns of facts, and why."""


def imported(name: str) -> None:
    """Import a module by name, or a file that ends in .py, so that the parts in it are registered.

    Raises:
        ConfigError: it cannot be imported.
    """
    try:
        if not name.endswith(".py"):
            import_module(name)
            return
        path = Path(name).resolve()
        module = f"{path.stem}_{digest(str(path))[:12]}"
        if module in sys.modules:
            return
        spec = spec_from_file_location(module, path)
        assert spec is not None, "a name that ends in .py has a loader"
        assert spec.loader is not None, "a name that ends in .py has a loader"
        sys.modules[module] = module_from_spec(spec)  # before it runs: what it defines is pickled by this name
        try:
            spec.loader.exec_module(sys.modules[module])
        except BaseException:
            del sys.modules[module]
            raise
    except (ImportError, OSError) as error:
        raise ConfigError(f"objective.imports: {name} cannot be imported ({error})") from error
