"""Findings: each rule can fire with its numbers, a run that learns is not blamed, and the order is by importance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnosed import group, one, solved
from palaestra.benchmarks.diagnosis import TrainingFinding, find_causes, headline
from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, diagnose_records
from palaestra.benchmarks.diagnosis.episodes import DiagnosedGroup
from palaestra.benchmarks.diagnosis.findings.finding import join_names, percent
from palaestra.benchmarks.diagnosis.reading import RecordedEvent, RunRecords, StageRecords
from palaestra.benchmarks.diagnosis.weights import WeightChange
from palaestra.records import EndReason
from palaestra.trainers.model.distance import WeightDistance


def stage(groups: Sequence[DiagnosedGroup], *, name: str = "grpo", **changes: Any) -> StageRecords:
    fields: dict[str, Any] = {
        "name": name,
        "directory": Path("run") / name,
        "settings": {},
        "groups": tuple(groups),
        "branched": 0,
        "branches_solved": 0,
        "history": [],
        "events": (),
        "saves": {},
        "quarantined": 0,
    }
    return StageRecords(**{**fields, **changes})


def diagnosis(*stages: StageRecords, missing: Sequence[str] = ()) -> Diagnosis:
    return diagnose_records(
        RunRecords(directory=Path("run"), settings={}, stages=tuple(stages), missing=tuple(missing))
    )


def findings(groups: Sequence[DiagnosedGroup], **changes: Any) -> Mapping[str, TrainingFinding]:
    return {found.name: found for found in find_causes(diagnosis(stage(groups, **changes)))}


def healthy() -> list[DiagnosedGroup]:
    """Half of each group solves the task, and later more do."""
    won, failed = one(solved=True, acted=True, returned=100.0), one(returned=5.0)
    return [
        group(*[won] * (2 + (step > 4)), *[failed] * (2 - (step > 4)), step=step, task=f"w/refund/{task}")
        for step in range(1, 7)
        for task in range(4)
    ]


def test_a_run_that_learns_is_not_blamed() -> None:
    run = diagnosis(stage(healthy()))
    (said,) = headline(run)
    assert said.startswith("grpo: the share solved rose, from 50 % in the first third to 75 % in the last; points went")
    assert said.endswith("from 52.5 to 76.2 (96 episodes in 6 steps).")
    assert {found.name for found in find_causes(run)} <= {"headroom"}


def test_a_choice_that_follows_results_is_stated_and_not_advised_again() -> None:
    """In the first third all of one family, in the last all of a harder one: the policy need not have changed."""
    settings = {"choice": {"rule": "bandit", "instances": "endless"}}
    groups = [
        solved(wins, 4, step=step, task=f"w/{family}/{task}", family=f"w/{family}")
        for step, family, wins in ((1, "easy", 4), (2, "hard", 0))
        for task in range(4)
    ]
    said = headline(diagnosis(stage(groups, settings=settings)))
    assert said[0].startswith("grpo: the share solved ")
    assert said[1].startswith("The choice of tasks follows earlier results, so the thirds hold different shares")
    assert len(headline(diagnosis(stage(groups)))) == 1
    adaptive, plain = findings(groups, settings=settings), findings(groups)
    for name in ("solved by every member", "no solution in groups"):
        assert 'choice.rule = "bandit"' not in adaptive[name].remedy
        assert 'choice.rule = "bandit"' in plain[name].remedy


def at(steps: Sequence[int], *members: Any, groups: int = 4) -> list[DiagnosedGroup]:
    """Groups of the same members at each of these steps."""
    return [group(*members, step=step, task=f"w/refund/{number}") for step in steps for number in range(groups)]


CUT = one(end=EndReason.TOKEN_BUDGET)
LOOPED = one(end=EndReason.MAX_TURNS)
WON = one(solved=True, returned=100.0, acted=True)
CASES: Mapping[str, tuple[list[DiagnosedGroup], Mapping[str, Any], str]] = {
    "no solution in groups": ([*at([1], one(), one(), groups=3), solved(1, 2)], {}, "In 3 of 4 groups (75 %)"),
    "solved by every member": (
        [solved(2, 2), solved(1, 2)],
        {"settings": {"choice": {"rule": "deal", "instances": "listed"}}},
        "In 1 of 2 groups (50 %) every member solved the task: they compare nothing. The stage plays listed tasks",
    ),
    "families never solved": (
        [solved(1, 2), solved(0, 2, family="w/hard")],
        {},
        "1 of 2 families were not solved once in 2 episodes (50 % of all): hard.",
    ),
    "equal returns": ([solved(0, 2), solved(2, 2), solved(1, 2)], {}, "2 of 3 groups (66.7 %) have equal returns"),
    "only harm differs": (
        at([1], one(), one(returned=-20.0, harmed=True, broken=("slip",))),
        {},
        "In 100 % of 4 groups",
    ),
    "only look-ups differ": (at([1], one(), one(returned=2.0, look_ups=("saw",))), {}, "they teach reading"),
    "only the end differs": (at([1], one(returned=9.0), LOOPED), {}, "they teach when to stop"),
    "unreadable turns": (at([1], one(turns=4, unreadable=3), one(turns=4)), {}, "37.5 % of the turns"),
    "ended by token_budget": (
        at([1], CUT, one()),
        {"settings": {"play": {"context": 768, "turn": 48}}},
        "token_budget ended 50 % of the episodes in the first third (play.context is 768 tokens and play.turn 48).",
    ),
    "ended by max_turns": (at([1], LOOPED, one()), {}, "max_turns ended 50 %"),
    "first failing criterion": (
        at([1], one(missed=("refunded",)), one(broken=("slip",)), one(missed=("refunded",))),
        {},
        "Of 12 finished and unsolved episodes, 8 (66.7 %) lack first `refunded`, all in refund.",
    ),
    "wrong decision": (
        at([1], one(expected="declined", closed="resolved"), one(expected="declined", closed="declined")),
        {},
        "Of 8 cases that should close as declined, 4 (50 %) closed otherwise: resolved 4.",
    ),
    "headroom": ([solved(1, 4) for _ in range(4)], {}, "pass@1 is 25.0 % and pass@4 100.0 %"),
    "lost trajectories": ([group(WON, one(), lost=2)], {}, "2 trajectories (50 %) were lost"),
    "families forgotten": (
        [*at([1], WON, one()), *at([2], one(), one())],
        {},
        "1 of 1 families were solved in the first third and not once in the last: refund.",
    ),
    "stalling": (
        [*at([1], WON, one()), *at([2], LOOPED, LOOPED)],
        {},
        "rose from 0 % to 100 %, and solved ones went from 50 % to 0 %; at the end: max_turns 100 %.",
    ),
    "points up, solved down": (
        [*at([1], WON, one(returned=-100.0)), *at([2], one(returned=30.0), one(returned=30.0))],
        {},
        "Points rose from 0.0 to 30.0, while the share solved fell from 50 % to 0 %: the reward pays",
    ),
    "acting does not pay": (
        at([1], WON, *[one(acted=True, returned=-80.0)] * 3, one(returned=10.0)),
        {},
        "Acting pays from 50 % right acts on, and 25 % of 16 were right: doing nothing pays more.",
    ),
    "harm": (
        at([1], one(harmed=True, broken=("slip",)), one()),
        {},
        "did something forbidden; of finished and unsolved episodes these broke first: `slip` 4.",
    ),
    "entropy falls": (
        healthy(),
        {"history": [{"step": 1, "policy/entropy": 0.8}, {"step": 2, "policy/entropy": 0.1}]},
        "Entropy fell from 0.8 nats a token in the first third to 0.1 in the last",
    ),
    "entropy rises": (
        healthy(),
        {"history": [{"step": 1, "policy/entropy": 0.4}, {"step": 2, "policy/entropy": 2.0}]},
        "Entropy rose from 0.4 nats a token",
    ),
    "alarms": (
        healthy(),
        {"events": (RecordedEvent(step=2, name="KL jump", text="far"), RecordedEvent(step=1, name="fault", text="w"))},
        "1 alarms and events were written down: KL jump (step 2).",
    ),
    "divergence": (healthy(), {"quarantined": 2}, "Training diverged on 2 batches"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_finding_can_fire_and_states_its_numbers(name: str) -> None:
    groups, changes, says = CASES[name]
    found = findings(groups, **changes)[name]
    assert says in found.sentence
    assert found.remedy
    assert 0 < found.importance <= 1
    assert found.stage == "grpo"


def moved(stage: str, distance: float, *, norm: float = 100.0) -> WeightChange:
    return WeightChange(stage=stage, before="start", after="end", distance=WeightDistance(moved=distance, norm=norm))


def test_weights_that_a_stage_hardly_moves_are_compared_with_the_stage_that_moved_them_most() -> None:
    run = diagnosis(stage(healthy(), settings={"learner": {"lr": 2e-4}}))
    little = replace(run, weight_changes=[moved("sft", 60.0), moved("grpo", 1.5)])
    (found,) = [one for one in find_causes(little) if one.name == "weights hardly move"]
    assert found.sentence == "Training moved the weights by 1.5 (1.5 % of their norm), and sft by 60."
    assert found.remedy.startswith("Raise learner.lr (now 0.0002)")
    for changes in ([moved("sft", 60.0), moved("grpo", 6.0)], [moved("sft", 1.0), moved("grpo", 1.5)]):
        assert "weights hardly move" not in {one.name for one in find_causes(replace(run, weight_changes=changes))}
    alone = replace(run, weight_changes=[moved("grpo", 0.05)])
    assert "weights hardly move" in {one.name for one in find_causes(alone)}, "less than a thousandth of the norm"


def test_a_change_within_its_noise_says_so_and_weighs_less() -> None:
    clear = findings([*at([1], WON, one()), *at([2], LOOPED, LOOPED)])["stalling"]
    vague = findings([*at([1], WON, one()), *at([2], LOOPED, LOOPED, groups=1), *at([2], WON, WON, groups=1)])[
        "stalling"
    ]
    assert "within the noise of so few groups" in vague.sentence
    assert vague.importance < clear.importance


def test_a_finding_of_an_earlier_stage_weighs_half_and_a_name_comes_twice_only_behind_all_others() -> None:
    groups = [*at([1], one(), one(), groups=3), solved(1, 2)]
    run = diagnosis(stage(groups, name="expert"), stage(groups, name="grpo"))
    found = find_causes(run)
    names = [one.name for one in found]
    first = names[: len(set(names))]
    assert len(set(first)) == len(first), "every name once, before any comes again"
    assert [one.stage for one in found if one.name == "no solution in groups"] == ["grpo", "expert"]
    weights = [one.importance for one in found if one.stage == "grpo"][:3]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("name", ["grpo", "grpo-late", "expert", "rejection"])
def test_branching_is_advised_in_the_stage_that_lacks_solutions_unless_it_branches(name: str) -> None:
    groups = at([1], one(), one())
    advised = findings(groups, name=name, settings={"branching": None})["no solution in groups"].remedy
    assert f"branch from failed groups ([{name}.branching])" in advised
    branched = findings(groups, name=name, settings={"branching": {"pivots": ["best"]}})["no solution in groups"].remedy
    assert "branching" not in branched
    assert branched.endswith('(choice.rule = "bandit"), or raise group_size.')


def test_tasks_that_are_drawn_anew_are_not_called_listed() -> None:
    groups = [solved(2, 2), solved(1, 2)]
    drawn = findings(groups, settings={"choice": {"rule": "bandit", "instances": "endless"}})["solved by every member"]
    listed_ones = findings(groups, settings={"choice": {"instances": "listed"}})["solved by every member"]
    assert "listed" not in drawn.sentence
    assert drawn.importance < listed_ones.importance


def test_a_run_without_rollouts_says_what_it_lacks() -> None:
    run = diagnosis(stage([], name="sft"), missing=["grpo"])
    said = headline(run)
    assert "No rollouts are recorded (sft so far)" in said[0]
    assert "grpo has not begun" in said[1]
    assert find_causes(run) == []


def test_a_stage_that_is_not_done_says_how_far_it_is() -> None:
    run = diagnosis(stage(healthy(), settings={"steps": 9}, saves={Path("run/grpo/checkpoint"): 5}))
    assert "grpo has 6 of 9 steps, the last save holds 5" in headline(run)[1]


def test_words_are_short() -> None:
    assert [percent(share) for share in (0.125, 0.5, 0, 1 / 3)] == ["12.5 %", "50 %", "0 %", "33.3 %"]
    assert join_names(["a", "b", "c"], most=2) == "a, b and 1 more"
