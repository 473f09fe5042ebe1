"""Two processes come to what one comes to."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.multiprocessing.spawn import spawn

from learning.spread import CONFIGS, CRITICS, WORLD, batch, come_to, decoder, learn_values, work
from palaestra.trainers.critic import Critic
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner
from palaestra.trainers.learner.processes import shares
from palaestra.trajectory import Episode
from trajectories import batches


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both processes have left what they came to."""
    directory = tmp_path_factory.mktemp("met")
    spawn(work, args=(directory,), nprocs=WORLD)
    return directory


def found(directory: Path, name: str, rank: int) -> dict[str, Any]:
    kept: dict[str, Any] = torch.load(directory / f"{name}.{rank}", weights_only=True)
    return kept


# In half precision one process holds the output layer in single, and several gather it in half.
CLOSE = {"half": {"weights": 1e-2, "scores": 1e-1, "figures": 5e-2}}
EXACT = {"weights": 1e-6, "scores": 1e-5, "figures": 1e-4}


@pytest.mark.parametrize("name", CONFIGS)
def test_two_processes_come_to_the_weights_scores_and_figures_of_one(met: Path, name: str) -> None:
    off = CLOSE.get(name, EXACT)
    alone, first = come_to(Learner(decoder(name), CONFIGS[name])), found(met, name, 0)
    assert [row.keys() for row in first["metrics"]] == [row.keys() for row in alone["metrics"]]
    for row, expected in zip(first["metrics"], alone["metrics"], strict=True):
        assert row == pytest.approx(expected, rel=off["figures"], abs=off["figures"])
    for kind in ("weights", "state"):
        assert first[kind].keys() == alone[kind].keys()
    for weight, expected in alone["weights"].items():
        assert torch.allclose(first["weights"][weight], expected, atol=off["weights"], rtol=0)
    for score, expected in zip(first["scores"], alone["scores"], strict=True):
        assert torch.allclose(score, expected, atol=off["scores"], rtol=0)


@pytest.mark.parametrize("name", CONFIGS)
def test_all_processes_say_and_hold_the_same_to_the_bit(met: Path, name: str) -> None:
    first, second = (found(met, name, rank) for rank in range(WORLD))
    assert first["metrics"] == second["metrics"]
    assert all(torch.equal(first["weights"][weight], second["weights"][weight]) for weight in first["weights"])
    assert all(torch.equal(one, other) for one, other in zip(first["scores"], second["scores"], strict=True))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_taken_again_from_the_state_before_it_says_the_same(met: Path, name: str) -> None:
    metrics = found(met, name, 0)["metrics"]
    assert metrics[2] == metrics[3]
    assert metrics[4] == {"diverged": 1.0}


@pytest.mark.parametrize("name", CRITICS)
def test_a_critic_in_two_processes_comes_to_the_values_of_one(met: Path, name: str) -> None:
    alone = learn_values(Critic(decoder(name), CRITICS[name], heads=1))
    first, second = (found(met, name, rank) for rank in range(WORLD))
    assert (alone["metrics"][-1] == {"diverged": 1.0}) == (CRITICS[name].loss == "squared")
    for row, other, expected in zip(first["metrics"], second["metrics"], alone["metrics"], strict=True):
        assert row == other
        assert row == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert first["metrics"][2] == first["metrics"][3]
    assert torch.equal(first["values"], second["values"])
    assert torch.allclose(first["values"], alone["values"], atol=1e-5, rtol=0)
    assert float(alone["values"].abs().max()) > 1e-3
    assert first["state"]["weights"].keys() == alone["state"]["weights"].keys()
    for weight, expected in alone["state"]["weights"].items():
        assert torch.allclose(first["state"]["weights"][weight], expected, atol=1e-6, rtol=0)


def test_what_several_processes_save_of_a_critic_one_can_go_on_from(met: Path) -> None:
    kept = found(met, "value", 0)
    critic = Critic(decoder("value"), CRITICS["value"], heads=1)
    critic.restore(kept["state"])
    assert torch.allclose(critic.values(batch()), kept["values"], atol=1e-5, rtol=0)


def test_what_several_processes_save_one_can_go_on_from(met: Path) -> None:
    learner = Learner(decoder("plain"), CONFIGS["plain"])
    kept = found(met, "plain", 0)
    learner.restore(kept["state"])
    assert all(torch.equal(weight, kept["weights"][name]) for name, weight in learner.weights().items())
    moments = learner.state()["optimiser"]
    assert all(
        torch.equal(value, kept["state"]["optimiser"][name][key])
        for name, kinds in moments.items()
        for key, value in kinds.items()
    )


# Who puts what through

LAYOUTS: tuple[LayoutName, ...] = ("packed", "padded", "shared")


@settings(max_examples=30)
@given(drawn=batches, count=st.integers(1, 6), layout=st.sampled_from(LAYOUTS))
def test_every_trajectory_is_one_processs_and_nobody_has_more_than_the_mean_and_one_more(
    drawn: list[Episode], count: int, layout: LayoutName
) -> None:
    whole = flatten(drawn)
    dealt = shares(whole, count, layout)
    assert len(dealt) == count
    assert sorted(r for own in dealt for r in own) == list(range(whole.trajectories))
    tokens = torch.bincount(whole.trajectory_T, minlength=whole.trajectories)
    unit_R = whole.group_R if layout == "shared" else torch.arange(whole.trajectories)
    greatest = int(torch.zeros(whole.trajectories).index_add(0, unit_R, tokens.float()).max())
    assert max(int(tokens[own].sum()) for own in dealt) <= int(tokens.sum()) / count + greatest


def test_where_prefixes_are_shared_a_group_stays_in_one_process() -> None:
    dealt = shares(batch(), 2, "shared")
    groups = [set(batch().group_R[own].tolist()) for own in dealt]
    assert groups[0].isdisjoint(groups[1])
    assert shares(batch(), 2, "packed") != dealt
