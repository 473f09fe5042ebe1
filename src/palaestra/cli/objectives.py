"""`palaestra objectives`: the objectives, their parts and their sources."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from palaestra.cli.console import output
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.trainers.fillers import Filler
    from palaestra.trainers.objectives import BatchColumn, BuiltObjective, Part, Preset

app = typer.Typer(
    help="List training objectives: presets and their parts.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
_SURE = (
    "Sure, by whom the formula is: code, the authors' or a peer's; paper, its text; secondary, a transcription; "
    "derived, ours."
)
_ORDER = (
    "temperature", "filter", "reward", "advantage", "transform", "trust", "correction", "mask", "regulariser", "rate",
    "whole",
)  # fmt: skip
"""Kinds of parts, in the order in which a step uses them."""
Import = Annotated[list[str] | None, typer.Option("--import", help="Module or .py file with your own parts.")]


@app.callback()
def objectives() -> None:
    """List training objectives: presets and their parts."""


@app.command(
    name="list",
    epilog="Examples: `palaestra objectives list`, `palaestra objectives list --constants`, `palaestra objectives list "
    "--parts`, "
    "`palaestra objectives list --parts --import my_losses.py`",
)
def list_(
    parts: Annotated[bool, typer.Option("--parts", help="List the parts instead of the presets.")] = False,  # noqa: FBT002
    constants: Annotated[  # noqa: FBT002
        bool, typer.Option("--constants", help="List the presets' units and constants, with the source of each.")
    ] = False,
    imports: Import = None,
) -> None:
    """List the presets, their constants, or the parts."""
    if imports and not parts:
        raise ConfigError("--import names modules with parts, which only --parts lists; add --parts")
    if parts and constants:
        raise ConfigError("--constants lists presets, and --parts lists parts; give one of them")
    table = list_constants() if constants else _list_parts(imports or ()) if parts else _list_presets()
    output().print(table.for_terminal())


def list_constants() -> Table:
    """The unit and the constants of every preset; constants from one source share a row."""
    from palaestra.trainers.objectives import ObjectiveConfig, constants, preset, presets  # noqa: PLC0415

    rows: list[tuple[str, ...]] = []
    for name in presets():
        built, sources = ObjectiveConfig(preset=name).build(), preset(name).constants
        found = {key: value for key, value in constants(built).items() if key != "unit"}
        unit = "any" if built.returns is None else f"return {built.returns:g}"
        if built.returns is not None and (source := sources.get("unit")):
            rows.append((name, unit, "", source))
        by_source: dict[str, list[str]] = {}
        for key, value in found.items():
            by_source.setdefault(sources.get(key, ""), []).append(f"{key}={_number(value)}")
        rows += [(name, unit, ", ".join(keys), source) for source, keys in by_source.items()]
        if not rows or rows[-1][0] != name:
            rows.append((name, unit, "none", ""))
    return Table(
        title="Constants of the presets",
        columns=("preset", "unit", "constants", "source"),
        rows=tuple(rows),
        note="Unit, what constants assume that a solved task returns: rewards are converted to it, but for any, where "
        "the scale of rewards changes nothing. Without constants a row is about the unit.",
    )


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else f"{value}"


def _list_parts(imports: Iterable[str]) -> Table:
    from palaestra.trainers.objectives import PARTS, import_parts  # noqa: PLC0415  it needs the extra `train`

    for module in imports:
        import_parts(module)
    rows = [(one.plug, one.name, one.formula, ", ".join(one.sources), one.confidence) for one in PARTS.values()]
    columns = ("goes", "name", "formula", "sources", "sure")
    return Table(title="Parts", columns=columns, rows=tuple(sorted(rows)), note=_SURE)


def _list_presets() -> Table:
    from palaestra.trainers.presets import preset, presets  # noqa: PLC0415

    found = [preset(name) for name in presets()]
    return Table(
        title="Presets",
        columns=("name", "what it is", "sources", "sure"),
        rows=tuple((one.name, one.summary, ", ".join(one.sources), one.confidence) for one in found),
        note=_SURE,
    )


@app.command(
    epilog="Examples: `palaestra objectives show dapo`, `palaestra objectives show clip`, "
    "`palaestra objectives show mine --import my_losses.py`"
)
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of a preset, a part or a column, or a preset's file.")
    ],
    imports: Import = None,
) -> None:
    """Show a preset's parts, all metadata of a part, or the fillers of a column."""
    from palaestra.trainers.fillers import fillers_of  # noqa: PLC0415
    from palaestra.trainers.objectives import (  # noqa: PLC0415
        COLUMNS,
        PARTS,
        ObjectiveConfig,
        import_parts,
        preset,
        presets,
    )
    from palaestra.trainers.presets import is_preset_file  # noqa: PLC0415

    for module in imports or ():
        import_parts(module)
    console = output()
    tables: list[Table] = []
    if name in presets() or is_preset_file(name):
        built = ObjectiveConfig(preset=name).build()
        tables += _preset_tables(preset(name), built)
    tables += [table for part in PARTS.values() if part.name == name for table in _part_tables(part)]
    if name in COLUMNS:
        tables += _column_tables(name, COLUMNS[name], fillers_of(name))
    if not tables:
        known = {*presets(), *(part.name for part in PARTS.values()), *COLUMNS}
        raise UnknownNameError.of("preset, part or column", name, known, "(`palaestra objectives list` lists all)")
    for table in tables:
        console.print(table.for_terminal())


def _preset_tables(preset: "Preset", built: "BuiltObjective") -> list[Table]:
    """A preset's parts, its inputs, and the advice of its paper."""
    from palaestra.trainers.objectives import COLUMNS, constants  # noqa: PLC0415

    recipe = built.recipe
    settings = {(plug, name): said for plug, name, said in recipe.specs()}
    parts = sorted(built.parts, key=lambda one: _ORDER.index(one.plug))
    rows: list[tuple[str, ...]] = [
        (
            one.plug,
            one.name,
            _settings(settings[one.plug, one.name]),
            one.formula,
            ", ".join(one.sources),
            one.confidence,
        )
        for one in parts
    ]
    if recipe.whole is None:
        rows.append(("ratio", f"{recipe.ratio.granularity}, to {recipe.ratio.anchor}", "", "", "", ""))
        rows.append(("aggregation", recipe.aggregation.name, "", "", "", ""))
    rows.append(("schedule", recipe.schedule.name, "", "", "", ""))
    if recipe.refill:
        rows.append(("refill", str(recipe.refill), "", "", "", ""))
    tables = [
        Table(
            title=f"{preset.name}: {preset.summary} ({', '.join(preset.sources)}; {preset.confidence})",
            columns=("goes", "name", "settings", "formula", "sources", "sure"),
            rows=tuple(rows),
            note=f"Unit: {describe_unit(built)}.",
        )
    ]
    does = tuple((one.plug, one.name, one.doc) for one in parts)
    tables.append(
        Table(title="What each part does, in the order of a step", columns=("goes", "name", "does"), rows=does)
    )
    if reads := sorted(built.requires):
        filled = tuple((name, _origin(name, preset), COLUMNS[name].meaning) for name in reads)
        tables.append(Table(title="What it reads", columns=("column", "filled in by", "what it is"), rows=filled))
    stated = constants(built)
    if stated:
        told = tuple((name, _number(value), preset.constants.get(name, "")) for name, value in stated.items())
        tables.append(Table(title="Constants", columns=("constant", "value", "source"), rows=told))
    if preset.advice:
        tables.append(Table(title="Advice", columns=("setting", "value"), rows=tuple(preset.advice.items())))
    return tables


def describe_unit(built: "BuiltObjective", total: float | None = None) -> str:
    """How returns are scaled before anything reads them.

    Args:
        built: The objective.
        total: The world's reward for a solved task, if known.
    """
    if built.unit is None:
        return "any: the scale of rewards changes nothing, so they stay as the world pays them"
    if built.unit.size is not None:
        return f"rewards are divided by {built.unit.size:g}, as the recipe states"
    returns = built.unit.returns
    if total == 0:
        return f"converted so that a solved task returns {returns:g}, once an episode says what the world pays for one"
    if total is None:
        return f"return {returns:g}: rewards are converted so that a solved task returns {returns:g}"
    if total == returns:
        return f"returns of {total:g} are left as they are"
    return f"returns of {total:g} are divided by {total / returns:g}"


def describe_pay(built: "BuiltObjective") -> str:
    """Further changes to returns, part by part; empty if there are none."""
    parts = zip(built.made, built.parts, strict=True)
    return "; ".join(f"{part.name}: {part.formula}" for one, part in parts if one in built.rewards)


def _part_tables(part: "Part") -> list[Table]:
    """All metadata of a part."""
    rows = [("formula", part.formula), ("sources", ", ".join(part.sources)), ("sure", part.confidence)]
    rows.append(("reads", ", ".join(sorted(part.requires)) or "nothing but the batch itself"))
    if part.neutral is not None:
        rows.append(("neutral", _settings(part.neutral) or "always"))
    if part.plug == "mask":
        rows.append(("means are over", part.denominator))
    rows += [("does not go with", f"{fact}: {reason}") for fact, reason in part.conflicts.items()]
    rows += [("needs", f"{fact}: {reason}") for fact, reason in part.needs.items()]
    tables = [Table(title=f"{part.plug} {part.name}: {part.doc}", columns=("what", "it says"), rows=tuple(rows))]
    if known := part.settings:
        tables.append(Table(title="Settings", columns=("name", "default"), rows=tuple(known.items())))
    return tables


def _origin(name: str, preset: "Preset") -> str:
    """The filler of a preset's column."""
    from palaestra.trainers.fillers import fillers_of  # noqa: PLC0415
    from palaestra.trainers.objectives import COLUMNS  # noqa: PLC0415

    if (source := COLUMNS[name].source) != "given":
        return source
    known = [filler.name for filler in fillers_of(name)]
    if (chosen := preset.columns.get(name)) is not None:
        return f"filler {chosen if isinstance(chosen, str) else chosen.get('filler')}"
    return f"a filler that the run chooses: {' or '.join(known)}" if known else "a filler of your own"


def _column_tables(name: str, column: "BatchColumn", fillers: "Sequence[Filler]") -> list[Table]:
    """A column and the fillers for it."""
    rows = [("what it is", column.meaning), ("filled in by", "a filler" if column.source == "given" else column.source)]
    tables = [Table(title=f"column {name}", columns=("what", "it says"), rows=tuple(rows))]
    for filler in fillers:
        about = [("what it gives", filler.doc), ("columns", ", ".join(filler.columns))]
        about += [("needs", ", ".join(sorted(filler.needs)) or "nothing but the records")]
        about += [(f"setting {setting}", default) for setting, default in filler.settings.items()]
        tables.append(Table(title=f"filler {filler.name}", columns=("what", "it says"), rows=tuple(about)))
    return tables


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
