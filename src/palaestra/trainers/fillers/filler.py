"""Fillers: functions that fill in columns of a batch which neither rollouts nor passes provide.

A filler is a function of a `FillerInput`, or a frozen dataclass whose fields are the settings and whose `__call__` is
that function. The decorator `column` registers it, in this package or in a user's file; a run's settings choose it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, get_args

import torch
from torch import Tensor

from palaestra.errors import DefinitionError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.fillers.inputs import FillerInput, Need
from palaestra.trainers.objectives.columns import declare_column
from palaestra.trainers.objectives.settings import setting_defaults

NumberKind: TypeAlias = Literal["float", "integer", "boolean"]
"""The kind of numbers in a column."""
C = TypeVar("C", bound=Callable[..., Any])


class FillColumn(Protocol):
    """The arguments and the result of a filler."""

    def __call__(self, given: FillerInput, /) -> Tensor | Mapping[str, Tensor]:
        """The column; or, if the filler fills in several, all columns by name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """A registered filler."""

    columns: tuple[str, ...]
    """The columns that it fills in."""
    name: str
    make: Callable[..., Any]
    """The function itself, or the class whose settings a run gives."""
    needs: frozenset[Need]
    """The inputs that it needs and that are created only on demand."""
    kind: NumberKind
    repeatable: bool
    """Whether it returns the same again. Otherwise, its results are recorded with the batch."""

    @property
    def settings(self) -> dict[str, str]:
        """The names of the settings, each with its default as text."""
        return setting_defaults(self.make)

    @property
    def doc(self) -> str:
        """The first line of the filler's docstring."""
        return (self.make.__doc__ or "").strip().partition("\n")[0]


FILLERS: dict[tuple[str, str], Filler] = {}
"""Every registered filler, by column and name."""


def column(
    *names: str,
    filler: str,
    meaning: str = "",
    needs: tuple[Need, ...] = (),
    kind: NumberKind = "float",
    repeatable: bool = True,
    is_return: bool = False,
) -> Callable[[C], C]:
    """Register a function, or a frozen dataclass with `__call__`, as a filler.

    Args:
        names: The columns that it fills in. A name ends in the column's axes, T, U or R first: `surprise_U`.
        filler: The filler's name, by which settings choose it.
        meaning: The meaning of a new column, in one line; not needed for a known column.
        needs: The inputs that it needs; see `FillerInput`.
        kind: The kind of numbers in the columns.
        repeatable: Whether it returns the same again for the same records and weights. Give False for external models:
            their results are then recorded with the batch, and a resumed or replayed run does not ask again.
        is_return: Whether a new column is in the units of returns.

    Raises:
        DefinitionError: a column's name is invalid, a column is not for fillers, or the filler's name is taken.
    """
    if not names:
        raise DefinitionError(f"filler {filler!r}: it fills in no column; name one at least, such as surprise_U")
    for need in needs:
        if need not in get_args(Need):
            raise DefinitionError(f"filler {filler!r}: it needs {need!r}; there are: {', '.join(get_args(Need))}")
    if "policy" in needs and not repeatable:
        raise DefinitionError(
            f"filler {filler!r}: it needs the policy, whose passes are repeated and not recorded; give repeatable=True"
        )
    for name in names:
        declare_column(name, meaning=meaning, is_return=is_return)

    def register(make: C) -> C:
        for name in names:
            before = FILLERS.get((name, filler))
            if before is not None and _place(before.make) != _place(make):
                raise DefinitionError(
                    f"filler {filler!r} of {name} is registered by {before.make.__module__}; choose another name"
                )
        made = Filler(columns=names, name=filler, make=make, needs=frozenset(needs), kind=kind, repeatable=repeatable)
        FILLERS.update({(name, filler): made for name in names})
        return make

    return register


def fillers_of(name: str) -> list[Filler]:
    """The fillers of a column, sorted by name."""
    return [filler for (column, _), filler in sorted(FILLERS.items()) if column == name]


_DTYPES: Mapping[NumberKind, tuple[torch.dtype, ...]] = {
    "float": (torch.float32, torch.float64),
    "integer": (torch.int64,),
    "boolean": (torch.bool,),
}


def check_column(values: object, name: str, filler: Filler, batch: TokenBatch) -> Tensor:
    """Check a filler's result for a column of this batch, and return it.

    Raises:
        DefinitionError: it is not a tensor, has another shape or type, or holds a number that is not finite.
    """
    where = f"filler {filler.name!r} of {name}"
    if not isinstance(values, Tensor):
        raise DefinitionError(f"{where}: it gave {type(values).__name__}; a filler gives a tensor")
    axes = name.rpartition("_")[2]
    size = {"T": len(batch.ids_T), "U": len(batch.trajectory_U), "R": batch.trajectories}[axes[0]]
    if values.dim() != len(axes) or len(values) != size:
        wanted = ", ".join([f"{axes[0]}={size}", *axes[1:]])
        raise DefinitionError(f"{where}: it gave the shape {list(values.shape)}; it is to be [{wanted}]")
    if values.dtype not in _DTYPES[filler.kind]:
        allowed = " or ".join(map(str, _DTYPES[filler.kind]))
        raise DefinitionError(f"{where}: it gave {values.dtype}; its kind is {filler.kind!r}, so give {allowed}")
    if not bool(values.isfinite().all()):
        place = tuple((~values.isfinite()).nonzero()[0].tolist())
        raise DefinitionError(f"{where}: at {place} it gave {float(values[place])}; numbers are finite")
    return values.detach().to(batch.return_R.device)


def _place(make: Callable[..., Any]) -> tuple[str, str]:
    return make.__module__, make.__qualname__
