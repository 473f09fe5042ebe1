"""The internal axes: what was learnt, measured along eight kinds of shift, each from none to strong."""

if __name__ != "palaestra.benchmarks.suites.ood":
    raise ImportError(
        f"this folder is palaestra.benchmarks.suites.ood, not {__name__}; write `import "
        "palaestra.benchmarks.suites.ood`"
    )

from collections.abc import Callable, Mapping, Sequence

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.entities import entities
from palaestra.benchmarks.suites.ood.family import family
from palaestra.benchmarks.suites.ood.horizon import horizon
from palaestra.benchmarks.suites.ood.noise import noise
from palaestra.benchmarks.suites.ood.policy import policy
from palaestra.benchmarks.suites.ood.pool import Pool
from palaestra.benchmarks.suites.ood.surface import surface
from palaestra.benchmarks.suites.ood.temper import temper
from palaestra.benchmarks.suites.ood.wording import wording
from palaestra.errors import ConfigError, UnknownNameError
from palaestra.records import Json

AXES: Mapping[str, Callable[[Pool], Axis]] = {
    "entities": entities,
    "family": family,
    "policy": policy,
    "surface": surface,
    "noise": noise,
    "horizon": horizon,
    "wording": wording,
    "temper": temper,
}
"""Every axis, in the order of reports."""


def suite(limit: int | None = None, axes: Sequence[str] = (), *, families: str | Sequence[str] = ()) -> Suite:
    """The suite of internal axes.

    Args:
        limit: The most tasks of a cell, chosen evenly over families; `None` for all.
        axes: Which axes; all if none.
        families: The families that the agent was trained on, by id or name, as a list or with commas between, or
            "demo" for those of the demo's policy; they decide what is in distribution; all of "train" if none.

    Raises:
        UnknownNameError: there is no such axis, or no such family to train on.
        ConfigError: the families are neither text nor texts.
        ValueError: the limit is below 1.
    """
    for name in axes:
        if name not in AXES:
            raise UnknownNameError.of("axis", name, AXES)
    pool = Pool(_named(families), limit=limit)
    made = [make(pool) for name, make in AXES.items() if not axes or name in axes]
    cells: dict[str, Cell] = {cell.id: cell for axis in made for cell in axis.cells}
    return Suite(
        name="ood",
        title="Out of distribution: the internal axes",
        cells=tuple(cells.values()),
        ladders=tuple(axis.ladder for axis in made),
        notes=_notes(pool),
    )


def _named(families: Json | Sequence[str]) -> list[str]:
    """The families, one by one; an option of a command may be any JSON."""
    given = families.split(",") if isinstance(families, str) else families
    if isinstance(given, list | tuple):
        names = [name.strip() for name in given if isinstance(name, str)]
        if len(names) == len(given):
            return names
    raise ConfigError(
        f"families={families!r}: names with commas between, or a list of them; write families=cancel-order,price-match"
    )


def _notes(pool: Pool) -> tuple[str, ...]:
    distribution = (
        f"In distribution are tasks of the {len(pool.trained)} families that the agent is taken to have been trained "
        "on, in the worlds of the split train, at indices that the split does not list. For an agent that was trained "
        "on other families, on more indices, or not here at all, no cell is in distribution."
    )
    pairing = (
        "Cells of the axes surface, noise and wording, and of policy but for other worlds, hold the tasks of the cell "
        "in distribution, so that differences are paired by task."
    )
    patience = (
        "Where calls are refused for the moment (noise/medium, noise/strong) a scripted solution has to be patient and "
        "make such a call again."
    )
    return distribution, pairing, patience


__all__ = ["AXES", "suite"]
