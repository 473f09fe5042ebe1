"""The choice of a filler for each column, by a run's settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from torch import Tensor

from palaestra.digest import digest
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.fillers import comparisons, experts, judge, reference_solution, rewards
from palaestra.trainers.fillers.filler import FILLERS, Filler, check_column, fillers_of
from palaestra.trainers.fillers.inputs import FillerInput, Need
from palaestra.trainers.objectives.build import BuiltObjective, import_parts
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.settings import make_with_settings
from palaestra.trainers.plugin import load_plugin
from palaestra.trainers.rollouts.job import Purpose

BUILT_IN = (comparisons, experts, judge, reference_solution, rewards)
"""The modules whose fillers are registered, since they are imported here."""
_FILLER = "filler"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenFiller:
    """A filler with its settings, and the columns that it fills in for this run."""

    filler: Filler
    settings: Mapping[str, Any]
    columns: tuple[str, ...]
    fill: Callable[[FillerInput], Tensor | Mapping[str, Tensor]]

    def __call__(self, given: FillerInput) -> dict[str, Tensor]:
        """Compute the columns.

        Raises:
            DefinitionError: the filler's result is not a valid column of this batch.
        """
        values = self.fill(given)
        found = values if isinstance(values, Mapping) else dict.fromkeys(self.filler.columns, values)
        return {name: check_column(found.get(name), name, self.filler, given.batch) for name in self.columns}

    def describe(self) -> list[Any]:
        """Everything that determines the filler's results, as plain JSON."""
        return [list(self.columns), self.filler.name, dict(self.settings)]


def choose_fillers(
    built: BuiltObjective, chosen: Mapping[str, Any], *, defaults: Mapping[str, Any] | None = None
) -> tuple[ChosenFiller, ...]:
    """Choose the fillers of the columns that an objective reads and that nothing else fills in.

    Args:
        built: The objective.
        chosen: For each column: the name of a filler or `module:name`, or a table with `filler` and its settings.
        defaults: The same from the preset, for columns that `chosen` does not name.

    Raises:
        ConfigError: a column has no filler, a filler is chosen for a column that takes none, a filler is unknown, or
            its settings are invalid.
    """
    needed = sorted(name for name in built.requires if COLUMNS[name].source == "given")
    for name in chosen:
        _check_chosen(name, needed)
    wanted = {**(defaults or {}), **chosen}
    found: dict[str, tuple[Filler, Mapping[str, Any]]] = {
        name: _read_spec(name, wanted[name]) for name in needed if name in wanted
    }
    for name in needed:
        if name not in found:
            beside = next((one for one in found.values() if name in one[0].columns), None)
            if beside is None:
                raise ConfigError(_describe_unfilled(name))
            found[name] = beside
    return _group(found, built)


def _group(found: Mapping[str, tuple[Filler, Mapping[str, Any]]], built: BuiltObjective) -> tuple[ChosenFiller, ...]:
    """Make one `ChosenFiller` for all columns that the same filler with the same settings fills in."""
    columns: dict[str, list[str]] = {}
    for name, (filler, settings) in found.items():
        columns.setdefault(digest([filler.name, list(filler.columns), dict(settings)]), []).append(name)
    made: list[ChosenFiller] = []
    for names in columns.values():
        filler, settings = found[names[0]]
        _check_time(filler, names, built)
        where = f"columns.{names[0]}: filler {filler.name!r}"
        fill = make_with_settings(filler.make, settings, where=where, hint="docs/objectives.md lists them")
        made.append(ChosenFiller(filler=filler, settings=settings, columns=tuple(names), fill=fill))
    return tuple(made)


def comparisons_of(chosen: tuple[ChosenFiller, ...]) -> tuple[Purpose, ...]:
    """The further rollouts of each group that the fillers need."""
    needs = needs_of(chosen)
    known: tuple[Purpose, ...] = get_args(Purpose)
    return tuple(purpose for purpose in known if purpose in needs)


def needs_of(chosen: tuple[ChosenFiller, ...]) -> frozenset[Need]:
    """All needs of the fillers together."""
    return frozenset[Need]().union(*(one.filler.needs for one in chosen))


def _check_chosen(name: str, needed: list[str]) -> None:
    if name not in COLUMNS:
        raise ConfigError(str(UnknownNameError.of("column", name, COLUMNS)))
    if (source := COLUMNS[name].source) != "given":
        raise ConfigError(f"columns.{name}: {source!r} fills it in; leave it out")
    if name not in needed:
        raise ConfigError(
            f"columns.{name}: no part of the objective reads it, so its filler would have no effect; leave it out "
            f"(it reads: {', '.join(needed) or 'none of the columns that fillers fill in'})"
        )


def _read_spec(name: str, spec: object) -> tuple[Filler, Mapping[str, Any]]:
    table: Mapping[str, Any] = {_FILLER: spec} if not isinstance(spec, Mapping) else spec
    said = table.get(_FILLER)
    if not isinstance(said, str):
        raise ConfigError(f"columns.{name}: it is {spec!r}; give the name of a filler, or a table with {_FILLER!r}")
    settings = {key: value for key, value in table.items() if key != _FILLER}
    if ":" in said:
        return _load(name, said), settings
    known = [filler.name for filler in fillers_of(name)]
    if said not in known:
        hint = "(or give module:name of one of yours)"
        raise ConfigError(f"columns.{name}: {UnknownNameError.of(_FILLER, said, known, hint)}")
    return FILLERS[name, said], settings


def _load(name: str, place: str) -> Filler:
    """Load the filler at `module:name` or `file.py:name`."""
    module, _, attribute = place.rpartition(":")
    if module.endswith(".py"):
        make: Any = getattr(import_parts(module), attribute, None)
    else:
        make = load_plugin(place, setting=f"columns.{name}")
    for filler in fillers_of(name):
        if filler.make is make:
            return filler
    raise ConfigError(
        f"columns.{name}: {place!r} is no filler of it; decorate a function there with @column({name!r}, filler=...)"
    )


def _describe_unfilled(name: str) -> str:
    known = fillers_of(name)
    listed = "; ".join(f"{filler.name!r}: {filler.doc}" for filler in known)
    way_out = (
        f'add [grpo.columns] {name} = "{known[0].name}", or another of its fillers: {listed}'
        if known
        else f"it has no filler; write one with @column({name!r}, filler=...), or take other parts"
    )
    return f"objective: it reads {name} ({COLUMNS[name].meaning}), and no filler is chosen for it; {way_out}"


def _check_time(filler: Filler, names: list[str], built: BuiltObjective) -> None:
    """Refuse a filter that reads a column which is filled in only for the trajectories that filters keep."""
    for part, reads in built.reads():
        late = sorted(reads & set(names))
        if late and part.plug == "filter" and "policy" in filler.needs:
            raise ConfigError(
                f"filter {part.name} reads {late[0]}, which {filler.name!r} fills in after filters, with passes of "
                "the policy; choose another filler"
            )
