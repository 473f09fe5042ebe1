"""Columns of fillers in a run: recorded where they are not repeatable, made again to the bit where they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from crash.loops import SYNC, Stopped, demonstrations, grpo_loop, run, sft_loop
from judged import ASKED
from palaestra.errors import ConfigError, InfrastructureError, ReplayError
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.fillers import FillerInput, choose_fillers
from palaestra.trainers.loops import GrpoConfig, GrpoLoop, RecordedRun, load_config, plan_run, recorded_batches
from palaestra.trainers.loops import run as run_plan
from palaestra.trainers.loops.record import check_same
from palaestra.trainers.objectives import Metrics, ObjectiveConfig
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.transcript import transcript_of
from worlds.registration import LIBRARY_ID

EXAMPLE = Path(__file__).parents[3] / "examples" / "train" / "own_objective"


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return run(sft_loop(), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(autouse=True)
def unasked() -> Iterator[None]:
    ASKED.clear()
    yield
    ASKED.clear()


def judged_by(name: str, **settings: Any) -> GrpoConfig:
    label = {"filler": "judge", "model": {"name": f"judged:{name}"}, "concurrency": 1, **settings}
    return replace(SYNC, steps=2, objective=ObjectiveConfig(preset="adca"), columns={"label_U": label})


def remax(**changes: Any) -> GrpoConfig:
    return replace(SYNC, steps=2, objective=ObjectiveConfig(preset="remax"), **changes)


def interrupted(loop: GrpoLoop, *, at: int) -> GrpoLoop:
    """The loop, whose process ends while it trains on what step `at` has recorded."""
    trained = loop._train

    def train(
        groups: Sequence[RolloutGroup],
        branches: Sequence[RolloutGroup],
        columns: Mapping[str, Tensor],
        step: int,
    ) -> Metrics:
        if step == at:
            raise Stopped
        return trained(groups, branches, columns, step)

    loop._train = train  # type: ignore[method-assign]
    return loop


def test_a_judge_is_asked_once_about_each_trajectory_however_often_a_run_is_interrupted(
    warm: Policy, tmp_path: Path
) -> None:
    config = judged_by("Capricious")
    whole = run(grpo_loop(warm, config), tmp_path / "whole")
    asked = len(ASKED)
    assert asked == sum(len(group.episodes) for batch in recorded_batches(tmp_path / "whole") for group in batch.groups)
    ASKED.clear()
    with pytest.raises(Stopped):
        run(interrupted(grpo_loop(warm, config), at=1), tmp_path / "broken")
    resumed = run(grpo_loop(warm, config), tmp_path / "broken")
    assert len(ASKED) == asked
    assert resumed.policy.digest() == whole.policy.digest()
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "again")
    assert len(ASKED) == asked
    assert again.policy.digest() == whole.policy.digest()
    assert list(recorded_batches(tmp_path / "again")) == list(recorded_batches(tmp_path / "whole"))


def test_what_the_judge_said_decides_what_is_learnt(warm: Policy, tmp_path: Path) -> None:
    config = replace(judged_by("Capricious"), steps=1)
    digests = list[str]()
    for name, before in (("one", []), ("same", []), ("other", ["1"])):
        ASKED[:] = before
        digests.append(run(grpo_loop(warm, config), tmp_path / name).policy.digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_judge_that_fails_ends_the_run_and_loses_no_rollout(warm: Policy, tmp_path: Path) -> None:
    """Nothing was saved yet, so that another judge may take over: of the groups that were taken."""
    whole = run(grpo_loop(warm, judged_by("Capricious")), tmp_path / "whole")
    ASKED.clear()
    loop = grpo_loop(warm, judged_by("Capricious"))
    broken = grpo_loop(warm, judged_by("Failing", tries=2))
    with pytest.raises(
        InfrastructureError, match=r"the judge judged:Failing failed 2 times .*the judge is gone; correct it"
    ):
        run(broken, tmp_path / "broken")
    [batch] = recorded_batches(tmp_path / "broken")
    assert batch.columns == {}
    result = run(loop, tmp_path / "broken")
    assert result.policy.digest() == whole.policy.digest()
    played = [[group.episodes for group in one.groups] for one in recorded_batches(tmp_path / "broken")]
    assert played[0] == played[1]
    assert len(played) == 3


def test_greedy_rollouts_replay_and_are_held_to_what_they_were(warm: Policy, tmp_path: Path) -> None:
    whole = run(grpo_loop(warm, remax()), tmp_path / "whole")
    recorded = RecordedRun.of(tmp_path / "whole")
    again = run(grpo_loop(warm, remax(), replay=recorded), tmp_path / "again")
    assert again.policy.digest() == whole.policy.digest()
    groups = recorded.of_step(0).groups
    assert all({*group.comparisons} == {"greedy"} for group in groups)
    check_same(groups, groups, 0)
    other = replace(groups[0], comparisons={"greedy": replace(groups[0].comparisons["greedy"], segments=())})
    with pytest.raises(ReplayError, match=r"trajectory grpo/\d+/greedy is another one"):
        check_same([other, *groups[1:]], groups, 0)


def test_the_figures_count_every_rollout_and_train_on_none_that_is_greedy(warm: Policy, tmp_path: Path) -> None:
    row = run(grpo_loop(warm, remax()), tmp_path / "remax").progress.history[-1]
    per_group = SYNC.group_size + 1
    assert row["rollouts/taken"] == 2 * SYNC.limits.per_step
    assert row["rollouts/handed"] == per_group * row["rollouts/taken"]
    assert row["rollouts/started"] == row["rollouts/finished"] + row["rollouts/failed"] == row["rollouts/handed"]


def test_fillers_and_demonstrations_are_part_of_what_a_run_is(warm: Policy) -> None:
    def of(config: GrpoConfig) -> str:
        return grpo_loop(warm, config).fingerprint()

    assert of(judged_by("Capricious")) != of(judged_by("Failing")) != of(judged_by("Failing", tries=2))
    plain = replace(SYNC, objective=ObjectiveConfig(preset="grpo"))
    assert of(plain) == of(replace(plain, columns={}))


def test_a_recipe_whose_columns_nobody_fills_in_is_refused_when_the_settings_are_read() -> None:
    for preset, column in (("adca", "label_U"), ("prof", "process_R")):
        with pytest.raises(ConfigError, match=rf"it reads {column} .*no filler is chosen.*'judge': .*'rewards': "):
            replace(SYNC, objective=ObjectiveConfig(preset=preset))


# A user's own


def test_the_example_of_an_objective_of_ones_own_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, but for the sizes and a world that is small."""
    monkeypatch.chdir(EXAMPLE.parents[2])
    small = [
        *(f"world.env_id={LIBRARY_ID}", 'world.imports=["worlds.registration"]', "world.families=[]"),
        "policy.model={hidden=32,layers=1,heads=1,kv_heads=1,head_dim=32,mlp=64,context=512,vocabulary=600}",
        *("sft.steps=60", "sft.batch=4", "sft.warmup_steps=2", "sft.learner.lr=0.02", "threads=1"),
        *("grpo.steps=1", "grpo.group_size=4", "grpo.limits={per_step=2}", "grpo.play={context=400,turn=24}"),
        'trackers=["jsonl"]',
    ]
    config = load_config(EXAMPLE / "run.toml", settings=small)
    assert config.grpo is not None
    built = config.grpo.objective.build()
    assert built.requires >= {"news_U"}
    result = run_plan(plan_run(config), tmp_path / "own", say=lambda _: None)
    assert result.progress.step == 1
    plain = load_config(EXAMPLE / "run.toml", settings=[*small, "grpo.objective.preset=grpo"])
    other = run_plan(plan_run(plain), tmp_path / "plain", say=lambda _: None)
    assert result.policy.digest() != other.policy.digest()


def test_what_the_example_counts_is_what_answers_named_for_the_first_time(warm: Policy) -> None:
    config = ObjectiveConfig(preset=str(EXAMPLE / "preset.toml"))
    (chosen,) = choose_fillers(config.build(), {}, defaults=config.columns())
    episode = demonstrations()[0]
    (segment,) = episode.segments
    tokens = demonstration(transcript_of(episode), warm.codec)
    episode = replace(episode, segments=(replace(segment, tokens=tokens),))
    given = FillerInput(batch=flatten([episode]), episodes=(episode,), seed=0, codec=warm.codec)
    found = chosen(given)["news_U"].tolist()
    mentioned = [frozenset(event.mentioned) for turn in episode.turns for event in turn.events]
    assert found == [len(ids - frozenset().union(*mentioned[:n])) for n, ids in enumerate(mentioned)]
    assert sum(found) > 0


def test_a_users_preset_and_its_parts_are_part_of_what_a_run_is(warm: Policy, tmp_path: Path) -> None:
    for name in ("preset.toml", "parts.py"):
        (tmp_path / name).write_text(
            (EXAMPLE / name).read_text().replace("tanh-gate", "tanh-gate-2").replace("news", "novel")
        )
    config = replace(SYNC, objective=ObjectiveConfig(preset=str(tmp_path / "preset.toml")))
    before = grpo_loop(warm, config).fingerprint()
    assert grpo_loop(warm, config).fingerprint() == before
    for name in ("preset.toml", "parts.py"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text + "\n# another text\n")
        assert grpo_loop(warm, config).fingerprint() != before
        (tmp_path / name).write_text(text)
