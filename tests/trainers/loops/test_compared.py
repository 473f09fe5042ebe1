"""Which parts learn nothing from groups of one: the table is held to what the parts work out."""

from collections.abc import Callable

import pytest
from torch import Tensor

from complete import complete
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.loops.compared import COMPARING
from palaestra.trainers.objectives import PARTS, Part
from palaestra.trainers.objectives.settings import TO_BE_SAID

ALONE = (1,) * 8
OURS = "palaestra.trainers.objectives."
ADVANTAGES = sorted(
    (part for part in PARTS.values() if part.plug == "advantage" and part.make.__module__.startswith(OURS)),
    key=lambda part: part.name,
)


def made(part: Part) -> Callable[[TokenBatch], Tensor]:
    if part.is_function:
        return part.make
    advantage: Callable[[TokenBatch], Tensor] = part.make(
        **{name: 1.0 for name, default in part.settings.items() if default == TO_BE_SAID}
    )
    return advantage


@pytest.mark.parametrize("part", ADVANTAGES, ids=lambda part: part.name)
def test_an_advantage_is_listed_that_is_0_for_every_group_of_one(part: Part) -> None:
    batch = complete(groups=ALONE)
    advantage_T = made(part)(batch)
    flat = bool(advantage_T[batch.trained_T].abs().max() < 1e-6)
    assert flat == (("advantage", part.name) in COMPARING)


@pytest.mark.parametrize("key", sorted(COMPARING))
def test_every_listed_part_is_registered(key: tuple[str, str]) -> None:
    assert key in PARTS
