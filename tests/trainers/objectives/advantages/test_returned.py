"""What holds for every advantage of trajectories and critics, whatever its formula."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import (
    BiLevelGae,
    DrMas,
    Gae,
    Gdpo,
    Gpg,
    History,
    Opob,
    OpobProxy,
    Otb,
    PassAtK,
    ReinforcePlus,
    ReinforcePlusKl,
    Vapo,
    VTrace,
    maxrl,
    opo,
    reinforce_plus_baseline,
    remax,
    rloo,
)
from palaestra.trainers.objectives.build import build, read_recipe
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.part import part_of
from palaestra.trainers.objectives.parts import Advantage, ValueReader
from scored import array, drawn, paid, scored

NAMES = (
    "bi-level-gae", "dr-mas", "gae", "gdpo", "gpg", "history", "maxrl", "opo", "opob", "opob-proxy", "otb", "pass-at-k",
    "reinforce-pp", "reinforce-pp-baseline", "reinforce-pp-kl", "remax", "rloo", "v-trace", "vapo",
)  # fmt: skip


def parts() -> dict[str, Advantage]:
    """New ones, for some remember batches."""
    return {
        "rloo": rloo, "opo": opo, "maxrl": maxrl, "remax": remax, "reinforce-pp-baseline": reinforce_plus_baseline,
        "gpg": Gpg(), "pass-at-k": PassAtK(), "reinforce-pp": ReinforcePlus(gamma=0.9), "otb": Otb(), "opob": Opob(),
        "reinforce-pp-kl": ReinforcePlusKl(beta=0.1), "gdpo": Gdpo(), "dr-mas": DrMas(), "gae": Gae(), "vapo": Vapo(),
        "bi-level-gae": BiLevelGae(), "v-trace": VTrace(), "opob-proxy": OpobProxy(), "history": History(),
    }  # fmt: skip


def with_columns(batch: TokenBatch) -> TokenBatch:
    """Every column, of plain numbers."""
    sizes = {"T": len(batch.ids_T), "U": len(batch.reward_U), "R": batch.trajectories}
    half = {name: torch.full((sizes[name[-1]],), 0.5, dtype=torch.float64) for name in COLUMNS if name[-1] in sizes}
    layers = {"layers_UL": batch.reward_U[:, None].repeat(1, 4), "task_R": batch.group_R, "agent_R": batch.group_R}
    return batch.with_columns({**half, "old_T": half["old_T"].log(), "ref_T": half["ref_T"].log(), **layers})


DEGENERATE = {
    "groups of one": scored([[(2, 1.0)], [(3, 0.0)]], [0, 1]),
    "one trajectory": scored([[(2, 1.0)]]),
    "one token": scored([[(1, 1.0)], [(0, 0.0)]]),
    "nothing trained": scored([[(0, 1.0)], [(0, 0.0)]]),
    "no turns": scored([[], []]),
    "equal returns": paid([0.1] * 5, [0, 0, 0, 1, 1]),
    "huge returns": paid([1e12, -1e12, 0]),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_batches_have_finite_advantages(name: str, case: str) -> None:
    batch = with_columns(DEGENERATE[case])
    found_T = parts()[name](batch)
    assert found_T.shape == batch.ids_T.shape
    assert found_T.isfinite().all()


RIVALS = ("dr-mas", "gdpo", "gpg", "history", "maxrl", "opo", "opob", "opob-proxy", "otb", "pass-at-k", "rloo")
"""Those that compare trajectories with each other, and with nothing else."""


@pytest.mark.parametrize("name", RIVALS)
def test_equal_returns_teach_exactly_nothing(name: str) -> None:
    batch = with_columns(paid([0.1] * 6))
    assert not parts()[name](batch)[batch.trained_T].any()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_given_is_changed(name: str) -> None:
    batch = drawn(0)
    before = {key: value.clone() for key, value in batch.arrays().items()}
    parts()[name](batch)
    after = batch.arrays()
    assert all(torch.equal(after[key], value) for key, value in before.items())


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_trajectories_does_not_matter(name: str) -> None:
    batch = drawn(3)
    order = np.random.default_rng(0).permutation(batch.trajectories).tolist()
    numbered = batch.with_columns({"number_T": torch.arange(len(batch.ids_T))})
    shuffled = numbered.select(order)
    found_T = parts()[name](shuffled)[shuffled.trained_T]
    expected_T = parts()[name](batch)[shuffled.column("number_T")][shuffled.trained_T]
    np.testing.assert_allclose(array(found_T), array(expected_T), rtol=0, atol=1e-10)


def in_single_precision(value: Tensor) -> Tensor:
    return value.float() if value.is_floating_point() else value


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays_single(name: str) -> None:
    batch = drawn(4)
    single = TokenBatch(
        **{key: in_single_precision(value) for key, value in batch.arrays().items() if key not in batch.columns},
        columns={key: in_single_precision(value) for key, value in batch.columns.items()},
    )
    found_T = parts()[name](single)
    assert found_T.dtype == torch.float32
    own_T = batch.trained_T
    np.testing.assert_allclose(array(found_T[own_T]), array(parts()[name](batch)[own_T]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_part_reads_the_columns_that_it_requires_and_no_others(name: str) -> None:
    known = part_of("advantage", name)
    assert known.requires <= COLUMNS.keys()
    batch = drawn(5)
    least = replace(batch, columns={key: value for key, value in batch.columns.items() if key in known.requires})
    assert torch.equal(parts()[name](least), parts()[name](batch))
    for column in known.requires:
        without = replace(batch, columns={key: value for key, value in least.columns.items() if key != column})
        with pytest.raises(LookupError, match=column):
            parts()[name](without)


@pytest.mark.parametrize("name", NAMES)
def test_where_a_context_begins_anew_does_not_matter(name: str) -> None:
    """A segment for every token."""
    batch = drawn(6)
    places_T = torch.arange(len(batch.ids_T))
    split = replace(batch, segment_T=places_T, trajectory_S=batch.trajectory_T, position_T=torch.zeros_like(places_T))
    assert torch.equal(parts()[name](split), parts()[name](batch))


SETTINGS: dict[str, dict[str, Any]] = {
    "gpg": {"scale": "group", "epsilon": 1e-4},
    "pass-at-k": {"scale": "group"},
    "reinforce-pp": {"gamma": 0.99},
    "reinforce-pp-kl": {"beta": 0.01},
    "gdpo": {"weights": [1.0, 0.5, 0.5, 1.0], "over": "trajectories"},
    "dr-mas": {"alone": "zero"},
    "gae": {"lam": 0.95, "whiten": False},
    "vapo": {"alpha": 0.1, "critic_lam": 0.9},
    "bi-level-gae": {"gamma_turn": 0.9},
    "v-trace": {"most": 2.0},
    "otb": {"most": 2.0, "zero_tail": False},
    "opob": {"mode": "winsorised", "scope": "batch", "scale": "owner"},
    "opob-proxy": {"mode": "median", "double_weight": True},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_builds_it(name: str) -> None:
    advantage = {"part": name, **SETTINGS.get(name, {})}
    sums = {"name": "token-mean"}
    built = build(read_recipe({"advantage": advantage, "ratio": {"anchor": "old"}, "aggregation": sums}))
    assert part_of("advantage", name).requires <= built.requires
    batch = drawn(7)
    found = built.objective.advantages(batch)
    assert found.advantage_T.isfinite().all()
    assert not found.advantage_T[~batch.trained_T].any()


@pytest.mark.parametrize("name", ["gae", "vapo", "bi-level-gae", "v-trace"])
def test_a_critic_is_told_what_it_should_have_expected(name: str) -> None:
    part = build(read_recipe({"advantage": name, "ratio": {"anchor": "old"}})).critic
    assert isinstance(part, ValueReader)
    batch = drawn(8)
    found_T = part.targets(batch)
    assert (part.column, part.heads, found_T.shape) == ("value_T", 1, batch.column("value_T").shape)
    assert found_T.isfinite().all()
    assert not found_T[~batch.trained_T].any()


def test_v_trace_is_not_weighed_by_the_same_ratio_twice() -> None:
    for also in ({"ratio": {"anchor": "rollout"}}, {"ratio": {"anchor": "old"}, "corrections": ["sequence-tis"]}):
        with pytest.raises(ConfigError, match="v-trace"):
            build(read_recipe({"advantage": "v-trace", **also}))
