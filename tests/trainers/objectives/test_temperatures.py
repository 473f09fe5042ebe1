"""What a recipe says of learnt temperatures, and what they cannot be combined with."""

from typing import Any

import pytest
import torch
from torch import Tensor

from complete import complete
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import PARTS, ObjectiveConfig, part
from palaestra.trainers.objectives.temperatures import IntroLlm


@pytest.mark.parametrize(
    ("alternate", "policy", "head"),
    [(1, [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]), (2, [1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]), (0, [1] * 6, [1] * 6)],
)
def test_policy_and_head_take_turns_of_as_many_batches_as_is_said(
    alternate: int, policy: list[int], head: list[int]
) -> None:
    own = IntroLlm(alternate=alternate)
    assert [own.trains_policy(step) for step in range(6)] == [bool(one) for one in policy]
    assert [own.trains_head(step) for step in range(6)] == [bool(one) for one in head]


def test_the_head_sees_the_batch_with_the_log_probabilities_of_its_choices() -> None:
    batch = complete()
    found = IntroLlm()(batch)
    assert torch.equal(found.logprob_T, batch.column("choice_T"))
    assert torch.equal(found.advantage_T, batch.advantage_T)
    assert found.columns.keys() == batch.columns.keys()


@pytest.mark.parametrize("name", ["grpo", "dapo", "gigpo", "cispo", "gspo"])
def test_any_preset_whose_trust_region_reads_ratios_takes_a_head(name: str) -> None:
    built = ObjectiveConfig(preset=name, parts={"temperature": "introllm"}).build()
    plain = ObjectiveConfig(preset=name).build()
    assert isinstance(built.temperature, IntroLlm)
    assert plain.temperature is None
    assert built.requires >= {"temperature_T", "latent_T", "choice_T"}
    assert built.objective.requires.isdisjoint({"temperature_T", "latent_T", "choice_T"})


# Refusals


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"low": 1.0, "high": 1.0}, r"there is nothing to choose; give a range, or leave `temperature` out"),
        ({"low": 2.0}, r"low=2\.0, high=1\.5: temperatures are above 0, and high is low or more"),
        ({"epsilon": 0}, r"epsilon=0\.0: parameters of a Beta distribution are above 0"),
        ({"rate": 0.0}, r"rate=0\.0: a learning rate is a number above 0"),
        ({"alternate": -1}, r"alternate=-1: a number of batches, or 0 to train both on each"),
        ({"lowest": 0.1}, r"unknown setting 'lowest'; did you mean 'low'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ObjectiveConfig(preset="introllm", parts={"temperature": settings})


def test_losses_of_whole_trajectories_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"whole/\* does not go with temperature/\*: .*no term for what"):
        ObjectiveConfig(preset="dpo", parts={"temperature": "introllm"})


@pytest.fixture
def strange() -> Any:
    """A filter of a user's that reads who is an expert's, and one that reads temperatures."""

    def keep_others(batch: TokenBatch) -> Tensor:
        return batch.return_R == batch.return_R

    for name, column in (("keep-others", "expert_T"), ("keep-warm", "temperature_T")):
        part("mask", name, formula="m = 1", requires=(column,))(keep_others)
    yield None
    for name in ("keep-others", "keep-warm"):
        del PARTS["mask", name]


@pytest.mark.usefixtures("strange")
def test_trajectories_that_no_head_sampled_are_refused_beside_it() -> None:
    with pytest.raises(
        ConfigError, match="mask keep-others reads expert_T, which comes with trajectories that the temp"
    ):
        ObjectiveConfig(preset="introllm", parts={"masks": ["keep-others"]})
    ObjectiveConfig(parts={"masks": ["keep-others"]})


@pytest.mark.usefixtures("strange")
def test_who_reads_temperatures_needs_a_head() -> None:
    with pytest.raises(ConfigError, match=r'and no temperature is learnt; add temperature = "introllm"'):
        ObjectiveConfig(parts={"masks": ["keep-warm"]})
    ObjectiveConfig(preset="introllm", parts={"masks": ["keep-warm"]})
