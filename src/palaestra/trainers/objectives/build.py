"""Builds an objective from settings: looks up parts, reads their settings, and refuses incompatible combinations."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from palaestra.digest import digest
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import (
    advantages,
    corrections,
    filters,
    masks,
    rates,
    regularisers,
    rewards,
    temperatures,
    transforms,
    trust,
    whole,
)
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.compatible import (
    check_columns,
    check_conversion,
    check_facts,
    check_refill,
    check_reward_order,
    check_temperatures,
)
from palaestra.trainers.objectives.composed import ComposedObjective, Masking
from palaestra.trainers.objectives.objective import Objective
from palaestra.trainers.objectives.part import Denominator, Part, Plug, part_of
from palaestra.trainers.objectives.parts import (
    Filter,
    Mask,
    Regulariser,
    Requiring,
    Reward,
    Stateful,
    TemperaturePolicy,
    ValueReader,
)
from palaestra.trainers.objectives.recipe import REPLACED, Recipe, Spec, over, split_spec
from palaestra.trainers.objectives.rewards import PaySolved, RewardUnit
from palaestra.trainers.objectives.settings import describe_fault, make_with_settings
from palaestra.trainers.objectives.term import Term
from palaestra.trainers.objectives.whole.objective import WholeTrajectoryObjective
from palaestra.trainers.presets import Preset, preset

ROOMS = (advantages, corrections, filters, masks, rates, regularisers, rewards, temperatures, transforms, trust, whole)
"""The packages whose parts are registered, because they are imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveConfig:
    """The settings of an objective: a preset, and changes to it."""

    preset: str = "grpo"
    """A published preset, or your own file, which ends in .toml; see `presets.preset`."""
    imports: tuple[str, ...] = ()
    """Modules, or files that end in .py, which register your own parts and fillers."""
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Sections of a recipe that override the preset's."""

    def __post_init__(self) -> None:
        self.build()

    def recipe(self) -> Recipe:
        """The whole recipe.

        Raises:
            ConfigError: there is no such preset, or a section is unknown or invalid.
        """
        below = self._preset().recipe
        if self.parts and below.get("unit") == "any":  # that holds for the preset's parts, not for others
            below = {name: value for name, value in below.items() if name != "unit"}
        recipe = read_recipe(over(below, self.parts))
        if recipe.whole is not None and (unused := sorted(REPLACED & self.parts.keys())):
            raise ConfigError(f"objective.parts: {', '.join(unused)} would not be used, for `whole` takes their place")
        return recipe

    def columns(self) -> Mapping[str, Any]:
        """The fillers that the preset names, by column."""
        return self._preset().columns

    def sources(self) -> list[str]:
        """The texts of users' files, the preset's and imported ones, which decide the results of a run."""
        found = self._preset()
        files = [name for name in (*self.imports, *found.imports) if name.endswith(".py")]
        return [*([found.text] if found.text else []), *(Path(name).read_text(encoding="utf-8") for name in files)]

    def _preset(self) -> Preset:
        try:
            return preset(self.preset)
        except UnknownNameError as error:
            raise ConfigError(str(error)) from error

    def build(self) -> "BuiltObjective":
        """Build the objective; raises as `build` does."""
        for module in (*self.imports, *self._preset().imports):
            import_parts(module)
        return build(self.recipe())


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltObjective:
    """A built recipe."""

    recipe: Recipe
    objective: Objective
    unit: RewardUnit | None
    """Converts rewards; `None` if they stay unchanged."""
    rewards: tuple[Reward, ...]
    """All other reward parts, in order."""
    filters: tuple[Filter, ...]
    parts: tuple[Part, ...]
    """The metadata of every part, in the recipe's order."""
    made: tuple[object, ...]
    """The parts themselves, in the same order."""

    @property
    def returns(self) -> float | None:
        """The return of a solved task that constants assume; `None` if rewards are those of the world."""
        return None if self.unit is None or self.unit.size is not None else self.unit.returns

    @property
    def critic(self) -> ValueReader | None:
        """The advantage, if it needs a critic."""
        if isinstance(self.objective, ComposedObjective) and isinstance(self.objective.advantage, ValueReader):
            return self.objective.advantage
        return None

    @property
    def temperature(self) -> TemperaturePolicy | None:
        """The part that learns sampling temperatures; `None` if all tokens have one temperature."""
        found = [one for one, part in zip(self.made, self.parts, strict=True) if part.plug == "temperature"]
        return cast("TemperaturePolicy", found[0]) if found else None

    @property
    def requires(self) -> frozenset[str]:
        """The columns that its parts read."""
        return self.objective.requires.union(*map(_reads, self.made, self.parts))

    def reads(self) -> Iterator[tuple[Part, frozenset[str]]]:
        """Each part with the columns that it reads under its settings."""
        for one, part in zip(self.made, self.parts, strict=True):
            yield part, _reads(one, part)

    def convert(self, batch: TokenBatch) -> TokenBatch:
        """The batch with rewards in the unit that constants assume.

        Raises:
            ConfigError: the world does not state the reward of a solved task.
        """
        return batch if self.unit is None else self.unit.convert(batch)

    def is_wanted(self, batch: TokenBatch) -> bool:
        """Whether the filters that judge each group alone keep anything.

        Args:
            batch: A batch of one group.
        """
        own = [one for one, part in zip(self.made, self.parts, strict=True) if part.each_group]
        batch = self.convert(batch) if own else batch
        return all(bool(cast("Filter", one)(batch).any()) for one in own)

    def state(self) -> dict[str, object]:
        """Everything besides weights that later batches depend on, as plain JSON."""
        return {place: one.state() for place, one in self._stateful()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`."""
        for place, one in self._stateful():
            one.restore(state[place])

    def _stateful(self) -> Iterator[tuple[str, Stateful]]:
        """Every part with state, by its place in the recipe."""
        for number, (one, part) in enumerate(zip(self.made, self.parts, strict=True)):
            if isinstance(one, Stateful):
                yield f"{number}/{part.plug}/{part.name}", one


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")
    recipe: Recipe


def read_recipe(table: Mapping[str, Any]) -> Recipe:
    """A recipe from a table of sections.

    Raises:
        ConfigError: a section is unknown or invalid.
    """
    try:
        return _Table.model_validate({"recipe": table}).recipe
    except ValidationError as error:
        raise ConfigError(f"objective: {'; '.join(map(describe_fault, error.errors()))}") from error


def build(recipe: Recipe) -> BuiltObjective:
    """The objective that a recipe describes.

    Raises:
        ConfigError: a part is unknown, one of its settings is invalid, or two parts are incompatible; the message says
            why.
    """
    specs = list(recipe.specs())
    parts = tuple(_part(plug, name) for plug, name, _ in specs)
    check_facts(recipe, parts)
    check_refill(recipe, parts)
    check_conversion(recipe)
    check_reward_order(recipe)
    made = tuple(_make(plug, name, settings) for plug, name, settings in specs)
    # The columns of a temperature head are for its own steps, not for surrogates.
    reads = frozenset[str]().union(
        *(_reads(one, part) for one, part in zip(made, parts, strict=True) if part.plug != "temperature")
    )
    valued = any(isinstance(other, ValueReader) for other in made)
    for one, part in zip(made, parts, strict=True):
        check_columns(part, _reads(one, part), valued=valued, chooses=recipe.temperature is not None)
    check_temperatures(recipe, zip(parts, map(_reads, made, parts), strict=True))

    def of(plug: Plug) -> tuple[Any, ...]:
        return tuple(one for one, part in zip(made, parts, strict=True) if part.plug == plug)

    terms = tuple(map(_term, recipe.regularisers, of("regulariser")))
    objective: Objective
    if recipe.whole is not None:
        objective = WholeTrajectoryObjective(
            loss=of("whole")[0], terms=terms, aggregation=recipe.aggregation, requires=reads.union({"now_T"})
        )
    else:
        objective = ComposedObjective(
            advantage=of("advantage")[0],
            transforms=of("transform"),
            ratio=recipe.ratio,
            trust=of("trust")[0],
            corrections=of("correction"),
            masks=tuple(map(_masking, recipe.masks, of("mask"))),
            terms=terms,
            aggregation=recipe.aggregation,
            rates=of("rate"),
            requires=reads.union(recipe.ratio.requires()),
        )
    conversion = [one for one in of("reward") if isinstance(one, RewardUnit)]
    built = BuiltObjective(
        recipe=recipe,
        objective=objective,
        unit=conversion[0] if conversion else None,
        rewards=tuple(one for one in of("reward") if not isinstance(one, RewardUnit)),
        filters=of("filter"),
        parts=parts,
        made=made,
    )
    _check_pay(built)
    return built


def _check_pay(built: BuiltObjective) -> None:
    """Refuse pay for solved tasks in another unit than that of the objective's constants."""
    for one in built.rewards:
        if isinstance(one, PaySolved) and built.returns not in (None, one.amount):
            raise ConfigError(
                f"reward solved: amount={one.amount:g}, and the objective's constants assume that a solved task "
                f"returns {built.returns:g}; give amount = {built.returns:g}"
            )


def _reads(made: object, part: Part) -> frozenset[str]:
    """The columns that a part reads under its settings."""
    return made.requires if isinstance(made, Requiring) else part.requires


def _masking(spec: Spec, mask: Mask) -> Masking:
    name, settings = split_spec(spec)
    denominator = settings.get("denominator", part_of("mask", name).denominator)
    if denominator not in (known := get_args(Denominator)):
        raise ConfigError(f"mask {name}: denominator={denominator!r}; means are over one of {', '.join(known)}")
    return Masking(mask=mask, denominator=denominator)


def _term(spec: Spec, regulariser: Regulariser) -> Term:
    name, settings = split_spec(spec)
    said = settings.get("aggregation")
    if said is None:
        return Term(regulariser=regulariser)
    try:
        table = {"name": said} if isinstance(said, str) else said
        return Term(regulariser=regulariser, aggregation=TypeAdapter(Aggregation).validate_python(table))
    except ValidationError as error:
        raise ConfigError(
            f"regulariser {name}: aggregation: {'; '.join(map(describe_fault, error.errors()))}"
        ) from error


_BESIDE: Mapping[Plug, str] = {"mask": "denominator", "regulariser": "aggregation"}
"""Settings beside a part's own."""


def _part(plug: Plug, name: str) -> Part:
    try:
        return part_of(plug, name)
    except UnknownNameError as error:
        raise ConfigError(str(error)) from error


def _make(plug: Plug, name: str, settings: Mapping[str, Any]) -> Any:
    """The part itself, with its settings."""
    found = _part(plug, name)
    settings = {key: value for key, value in settings.items() if key != _BESIDE.get(plug)}
    hint = f"`palaestra objectives show {name}`"
    return make_with_settings(found.make, settings, where=f"{plug} {name}", hint=hint)


def import_parts(name: str) -> ModuleType:
    """Import a module by name, or a file that ends in .py, so that the parts and fillers in it are registered.

    Raises:
        ConfigError: it cannot be imported.
    """
    try:
        if not name.endswith(".py"):
            return import_module(name)
        path = Path(name).resolve()
        module = f"{path.stem}_{digest(str(path))[:12]}"
        if module in sys.modules:
            return sys.modules[module]
        spec = spec_from_file_location(module, path)
        assert spec is not None, "a name that ends in .py has a loader"
        assert spec.loader is not None, "a name that ends in .py has a loader"
        sys.modules[module] = module_from_spec(spec)  # before it runs, since its definitions are pickled by this name
        try:
            spec.loader.exec_module(sys.modules[module])
        except BaseException:
            del sys.modules[module]
            raise
        return sys.modules[module]
    except (ImportError, OSError) as error:
        raise ConfigError(f"objective.imports: {name} cannot be imported ({error})") from error
