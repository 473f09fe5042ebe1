"""Every preset is trained with, in a world; so is one of a user's own."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crash.loops import POLICY, SFT, SYNC, Stopped, demonstrations, grpo_loop, run, stopped
from palaestra.errors import ConfigError
from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.loops import GrpoConfig, StageResult, recorded_batches
from palaestra.trainers.loops.material import initial_policy
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.objectives import ObjectiveConfig, presets
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trajectory import Episode

CRITIC = CriticConfig(learner=LearnerConfig(lr=1e-3))
COLUMNS: dict[str, dict[str, str]] = {"adca": {"label_U": "rewards"}, "prof": {"process_R": "rewards"}}
"""Fillers of the presets that leave the choice to the run."""
FILLED = ("igpo", "luffy", "remax", "repo")
"""Of each kind of filler one: passes through the policy, demonstrations, further rollouts, rephrased solutions."""
REMEMBERING = ("hiper", "seeupo", "ppo", "dcpo", "laconic", "flowrl", "vcpo_async", "grpo_kl", *FILLED)
"""Those that keep something beside the policy between steps, take their steps otherwise, or have fillers."""


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle plan."""
    seen = list(demonstrations())
    start = initial_policy(replace(POLICY, format="planner"), seen, seed=0)
    loop = SftLoop(replace(SFT, steps=75), seen, seed=0, start=start)
    return run(loop, tmp_path_factory.mktemp("warm") / "sft").policy


def config(name: str, *, steps: int = 1, **parts: object) -> GrpoConfig:
    objective = ObjectiveConfig(preset=name, parts=parts)
    play = replace(SYNC.play, context=320 if name == "repo" else 500, turn=32)  # it has to have room for the solution
    return replace(SYNC, steps=steps, objective=objective, critic=CRITIC, play=play, columns=COLUMNS.get(name, {}))


def trained(warm: Policy, config: GrpoConfig, directory: Path) -> StageResult:
    return run(grpo_loop(warm, config), directory)


@pytest.mark.parametrize("name", presets())
def test_every_preset_takes_a_step_that_can_be_taken_again(name: str, warm: Policy, tmp_path: Path) -> None:
    settings = config(name, steps=4 if name == "pass_at_k" else 1)  # it learns from groups that one member leads
    one, other = (trained(warm, settings, tmp_path / part) for part in ("one", "other"))
    assert one.policy.digest() == other.policy.digest()
    assert one.policy.digest() != warm.digest()


@pytest.mark.parametrize("name", REMEMBERING)
def test_what_was_interrupted_comes_to_the_end_of_what_was_not(name: str, warm: Policy, tmp_path: Path) -> None:
    settings = config(name, steps=3)
    whole = trained(warm, settings, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, settings), at=2), tmp_path / "broken")
    resumed = trained(warm, settings, tmp_path / "broken")
    assert resumed.policy.digest() == whole.policy.digest()
    assert whole.policy.digest() != warm.digest()


def test_a_step_tells_which_groups_it_learnt_from_and_a_probe_what_texts_tell_of_their_tasks(
    warm: Policy, tmp_path: Path
) -> None:
    plain, probed = config("grpo", steps=2), replace(config("grpo", steps=2), probe=2, probe_prompts=3)
    without, with_it = (trained(warm, one, tmp_path / str(one.probe)) for one in (plain, probed))
    assert without.policy.digest() == with_it.policy.digest()
    first, second = with_it.progress.history
    assert first["collapse/chance"] >= 1 / 3
    assert first["collapse/information"] <= math.log(1 / first["collapse/chance"]) + 1e-6
    assert "collapse/information" not in second
    shares = [value for name, value in first.items() if name.startswith("gradient/solved/")]
    assert sum(shares) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="probe=-1"):
        replace(plain, probe=-1)


def test_a_planners_critic_learns_what_to_expect(warm: Policy, tmp_path: Path) -> None:
    history = trained(warm, replace(config("hiper", steps=6), group_size=8), tmp_path / "hiper").progress.history
    losses = [row["critic/loss"] for row in history]
    assert losses[-1] < losses[0]


def test_while_the_critic_leads_the_policy_stands_still(warm: Policy, tmp_path: Path) -> None:
    settings = replace(config("vapo", steps=3), critic=replace(CRITIC, lead=2))
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, settings), at=2), tmp_path / "lead")
    assert load_policy(tmp_path / "lead" / "checkpoint").digest() == warm.digest()
    assert trained(warm, settings, tmp_path / "lead").policy.digest() != warm.digest()
    with pytest.raises(ValueError, match="the policy is never trained"):
        replace(settings, steps=2)


def test_seeupo_takes_a_step_for_every_turn(warm: Policy, tmp_path: Path) -> None:
    [row] = trained(warm, config("seeupo"), tmp_path / "seeupo").progress.history
    assert 1 <= row["seeupo/steps"] <= 12
    assert 0.8 <= row["seeupo/carry_mean"] <= 1.2


def test_where_no_group_reaches_its_share_repo_is_grpo_to_the_bit(warm: Policy, tmp_path: Path) -> None:
    never = config("repo", steps=2, filters=[{"part": "repo", "share": 2.0}])
    plain = config("repo", steps=2, filters=[])
    always = config("repo", steps=2, filters=[{"part": "repo", "share": 1e-9, "failure": 2.0}])
    digests = [trained(warm, one, tmp_path / str(n)).policy.digest() for n, one in enumerate((never, plain, always))]
    assert digests[0] == digests[1] != digests[2]
    groups = [group for batch in recorded_batches(tmp_path / "2") for group in batch.groups]
    assert all({*group.comparisons} == {"rephrase"} for group in groups)
    prompts = {
        group.comparisons["rephrase"].segments[0].prompt == group.episodes[0].segments[0].prompt for group in groups
    }
    assert prompts == {True}


OWN = '''
"""A loss of one's own: one function, one registration."""

from torch import Tensor

from palaestra.trainers.objectives import Surrogate, part


@part("trust", "tanh", formula="C = r sech(r - 1)^2", neutral=None)
def tanh(surrogate: Surrogate) -> Tensor:
    """A gate of one's own."""
    return -surrogate.advantage_N * (surrogate.log_ratio_N.exp() - 1).tanh()
'''


def test_a_loss_in_a_file_of_ones_own_is_trained_with(warm: Policy, tmp_path: Path) -> None:
    file = tmp_path / "my_losses.py"
    file.write_text(OWN)
    mine = ObjectiveConfig(imports=(str(file),), parts={"trust": "tanh"})
    result = trained(warm, replace(SYNC, steps=2, objective=mine), tmp_path / "mine")
    assert result.policy.digest() != warm.digest()
    clipped = trained(warm, replace(SYNC, steps=2), tmp_path / "clip")
    assert result.policy.digest() != clipped.policy.digest()
    with pytest.raises(ConfigError, match="unknown trust 'tahn'; did you mean 'tanh'"):
        ObjectiveConfig(imports=(str(file),), parts={"trust": "tahn"})


def test_another_text_of_the_same_file_is_another_run(warm: Policy, tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    file.write_text(OWN.replace('"tanh"', '"changing"'))
    mine = replace(SYNC, objective=ObjectiveConfig(imports=(str(file),), parts={"trust": "changing"}))
    before = grpo_loop(warm, mine).fingerprint()
    assert grpo_loop(warm, mine).fingerprint() == before
    file.write_text(file.read_text() + "\n# another text\n")
    assert grpo_loop(warm, mine).fingerprint() != before


def test_groups_that_a_filter_leaves_out_are_replaced_while_others_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy that knows the library well passes some tasks always and some never: both teach nothing.

    Each group is made into arrays once, for the filters and for the step together.
    """
    flattened: list[str] = []

    def counted(episodes: Sequence[Episode]) -> TokenBatch:
        flattened.append(episodes[0].group)
        return flatten(episodes)

    monkeypatch.setattr("palaestra.trainers.rollouts.groups.flatten", counted)
    seen = list(demonstrations())
    start = initial_policy(POLICY, seen, seed=0)
    known = run(SftLoop(replace(SFT, steps=60), seen, seed=0, start=start), tmp_path / "sft").policy
    for refill in (0, 40):
        objective = ObjectiveConfig(preset="dapo", parts={"refill": refill})
        history = run(grpo_loop(known, replace(SYNC, steps=2, objective=objective)), tmp_path / str(refill))
        unwanted = history.progress.history[-1]["rollouts/unwanted"]
        kinds = [
            {episode.score.passed for episode in group.episodes}
            for batch in recorded_batches(tmp_path / str(refill))
            for group in batch.groups
        ]
        assert unwanted < 2 * 40  # so that the bound is not what ended it
        assert (unwanted > 0) == all(len(passed) == 2 for passed in kinds) == (refill > 0)
        assert len(flattened) == len(set(flattened)) >= len(kinds) + unwanted
        flattened.clear()
