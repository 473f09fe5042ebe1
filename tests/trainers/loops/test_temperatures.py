"""Training with a head that learns temperatures: what it is without a choice, what moves when, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from crash.loops import ASYNC, SYNC, Stopped, grpo_loop, ledger, run, sft_loop, stopped
from palaestra.errors import ConfigError
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.loops import GrpoConfig, StageResult, recorded_batches
from palaestra.trainers.loops.engines import engine_of
from palaestra.trainers.loops.record import RecordedRun
from palaestra.trainers.loops.temperatures import with_temperature_head
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.rollouts.staleness import Staleness

RANGE = TemperatureRange(low=0.5, high=1.5, epsilon=1.0)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle."""
    return run(sft_loop(steps=70), tmp_path_factory.mktemp("warm")).policy


def config(steps: int = 4, *, base: GrpoConfig = SYNC, temperature: float = 1.0, **head: Any) -> GrpoConfig:
    parts = {"temperature": head, "ratio": {"anchor": "rollout" if base is ASYNC else "old"}}
    objective = ObjectiveConfig(preset="introllm", parts=parts)
    return replace(base, steps=steps, objective=objective, play=replace(base.play, temperature=temperature))


def trained(start: Policy, settings: GrpoConfig, directory: Path) -> StageResult:
    return run(grpo_loop(start, settings), directory)


def parts_of(policy: Policy) -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of the policy without its head, and those of the head, as lists."""
    weights = {name: weight.tolist() for name, weight in policy.model.state_dict().items()}
    head = {name: value for name, value in weights.items() if name.startswith("temperature_head.")}
    return {name: value for name, value in weights.items() if name not in head}, head


def closed(policy: Policy) -> Policy:
    """The policy with a head whose gate never opens."""
    found = with_temperature_head(policy.copy(), ObjectiveConfig(preset="introllm").build().temperature, seed=0)
    head = found.model.temperature_head
    assert head is not None
    with torch.no_grad():
        head.outer.bias[0] = -1e4
    return found


# Identities


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_where_the_head_never_chooses_it_is_grpo_at_one_temperature_to_the_bit(
    temperature: float, warm: Policy, tmp_path: Path
) -> None:
    settings = config(3, temperature=temperature, alternate=10)
    plain = replace(settings, objective=ObjectiveConfig(preset="grpo", parts={"ratio": {"anchor": "old"}}))
    one = trained(closed(warm), settings, tmp_path / "head")
    other = trained(warm, plain, tmp_path / "plain")
    assert parts_of(one.policy)[0] == parts_of(other.policy)[0] != parts_of(warm)[0]
    assert parts_of(one.policy)[1] == parts_of(closed(warm))[1]
    assert ledger(tmp_path / "head") == ledger(tmp_path / "plain")
    for batch, same in zip(recorded_batches(tmp_path / "head"), recorded_batches(tmp_path / "plain"), strict=True):
        for group, alike in zip(batch.groups, same.groups, strict=True):
            for episode, other_episode in zip(group.episodes, alike.episodes, strict=True):
                [segment], [other_segment] = episode.segments, other_episode.segments
                assert segment.tokens is not None
                assert segment.tokens.choices is not None
                assert set(segment.tokens.choices.temperatures) <= {0.0, temperature}
                assert replace(segment.tokens, choices=None) == other_segment.tokens


def test_what_the_engine_sampled_with_is_what_the_learner_scores(warm: Policy, tmp_path: Path) -> None:
    started = with_temperature_head(warm.copy(), ObjectiveConfig(preset="introllm").build().temperature, seed=3)
    result = trained(started, config(1), tmp_path / "run")
    assert result.progress.history[0]["temperature/open"] == pytest.approx(0.5, abs=0.1)  # as a new head has it
    [recorded] = recorded_batches(tmp_path / "run")
    batch = flatten([episode for group in recorded.groups for episode in group.episodes])
    learner = Learner(started.model, SYNC.learner)
    own_T = batch.trained_T
    temperature_N = batch.column("temperature_T")[own_T]
    assert RANGE.low <= temperature_N.min() < 0.9
    assert 1.1 < temperature_N.max() <= RANGE.high
    assert torch.allclose(learner.logprobs(batch).logp[own_T], batch.logprob_T[own_T], atol=2e-5)
    assert torch.allclose(learner.choice_logprobs(batch)[own_T], batch.column("choice_T")[own_T], atol=2e-5)
    without = replace(batch, columns={})
    assert not torch.allclose(learner.logprobs(without).logp[own_T], batch.logprob_T[own_T], atol=1e-2)


# Who is trained when


def test_policy_and_head_take_turns(warm: Policy, tmp_path: Path) -> None:
    wide = replace(SYNC, limits=Staleness(per_step=5))  # so that each batch has groups that differ
    seen = [parts_of(trained(warm, config(steps, base=wide), tmp_path / str(steps)).policy) for steps in (1, 2, 3)]
    (policy_1, head_1), (policy_2, head_2), (policy_3, head_3) = seen
    assert policy_1 != parts_of(warm)[0]
    assert head_1 != {}
    assert policy_2 == policy_1
    assert head_2 != head_1
    assert policy_3 != policy_2
    assert head_3 == head_2


def test_with_0_every_batch_trains_both_the_head_on_the_states_that_chose(warm: Policy, tmp_path: Path) -> None:
    result = trained(warm, replace(config(1, alternate=0), updates=1), tmp_path / "both")
    policy, head = parts_of(result.policy)
    started = grpo_loop(warm, config(1)).start()
    assert policy != parts_of(warm)[0]
    assert head != parts_of(started)[1]
    [row] = result.progress.history
    # Nothing but rounding lies between the head that chose and the one that begins its step.
    assert row["temperature/kl"] == pytest.approx(0.0, abs=1e-8)
    assert row["temperature/ratio_max"] == pytest.approx(1.0, abs=1e-3)
    assert row["temperature/clip_fraction"] == 0.0
    assert row["policy/ratio_max"] == pytest.approx(1.0, abs=1e-3)


# Saves and replays


@pytest.mark.parametrize("base", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_run_replays_from_its_record_to_equal_weights(base: GrpoConfig, warm: Policy, tmp_path: Path) -> None:
    settings = config(4, base=base, rate=0.01)
    whole = trained(warm, settings, tmp_path / "whole")
    again = run(grpo_loop(warm, settings, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "again")
    assert again.policy.digest() == whole.policy.digest()


@pytest.mark.parametrize("at", [1, 2])  # between the policy's step and the head's, and behind both
def test_what_was_interrupted_comes_to_the_end_of_what_was_not(at: int, warm: Policy, tmp_path: Path) -> None:
    whole = trained(warm, config(), tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config()), at=at), tmp_path / "broken")
    resumed = trained(warm, config(), tmp_path / "broken")
    assert resumed.policy.digest() == whole.policy.digest()
    assert ledger(tmp_path / "broken") == ledger(tmp_path / "whole")


def test_a_saved_head_is_loaded_and_goes_on_learning(warm: Policy, tmp_path: Path) -> None:
    result = trained(warm, config(2), tmp_path / "run")
    loaded = load_policy(result.directory)
    assert loaded.digest() == result.policy.digest()
    assert loaded.model.shape.temperature == RANGE
    assert parts_of(grpo_loop(loaded, config()).start()) == parts_of(loaded)
    with pytest.raises(
        ConfigError, match=r"temperature head has .*low=0\.5.*asks for .*low=0\.25.*before it had a head"
    ):
        grpo_loop(loaded, config(low=0.25)).start()
    plain = trained(loaded, SYNC, tmp_path / "plain")  # who learns no temperatures leaves the head as it is
    assert parts_of(plain.policy)[1] == parts_of(loaded)[1]
    assert all(
        segment.tokens is not None and segment.tokens.choices is None
        for batch in recorded_batches(tmp_path / "plain")
        for group in batch.groups
        for episode in group.episodes
        for segment in episode.segments
    )


# Refusals


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"vllm": VllmConfig()}, r"vllm: .*samples a whole turn at one; leave grpo\.vllm out"),
        ({"learner": LearnerConfig(lr=1e-3, lora=LoraConfig())}, r"learner\.lora: .*leave learner\.lora out"),
        ({"play": replace(SYNC.play, temperature=1.75)}, r"play\.temperature=1\.75: .*from 0\.5 to 1\.5; give one"),
    ],
)
def test_settings_that_a_head_cannot_have_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(config(), **changes)


def test_vllm_is_not_given_a_policy_with_a_head(warm: Policy, tmp_path: Path) -> None:
    settings, policy = replace(SYNC, vllm=VllmConfig()), closed(warm)
    with pytest.raises(ConfigError, match=r"vllm: the policy has a temperature head.*draw with our own engine"):
        engine_of(settings, policy, policy.model.state_dict(), tmp_path, sink=lambda line: None, replay=None)
