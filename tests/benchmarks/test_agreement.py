"""Agreement of two rubrics: both judge the same log, and what they disagree about is told."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import gymnasium as gym
import pytest

from palaestra.benchmarks.agreement import (
    AIM,
    SIDES,
    Agreement,
    agreement,
    agreement_document,
    agreement_on,
    agreement_tables,
    disagreement_lines,
    judge,
    rubrics_table,
)
from palaestra.envs import Instance, ToolEnv
from palaestra.proof.mutants import mutants
from palaestra.proof.routes import routes
from palaestra.proof.trial import Trial
from palaestra.rubrics import Rubric, forbid_guessed_ids, guards
from worlds.registration import LIBRARY_ID

STOREFRONT = ("storefront/cancel-order/0000", "storefront/partial-refund/0001", "storefront/fraud-hold/5000")


@pytest.fixture
def library() -> ToolEnv:
    env = gym.make(LIBRARY_ID).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@pytest.fixture(scope="module")
def found() -> Agreement:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    return agreement(env, STOREFRONT)


Write: TypeAlias = Callable[[str, Callable[[Instance], Rubric]], Trial]


@pytest.fixture
def trial_with(library: ToolEnv, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Makes a trial of a task whose expert wrote another rubric; the task set is every library's, so it is put back."""

    def write(task_id: str, change: Callable[[Instance], Rubric]) -> Trial:
        made = library.task_set.instance(task_id)
        monkeypatch.setitem(library.task_set._instances._values, (task_id, 0), replace(made, rubric=change(made)))
        return Trial(library, task_id)

    return write


def test_a_log_scored_again_with_its_own_rubric_scores_as_it_was_played(library: ToolEnv) -> None:
    trial = Trial(library, "library/renew-loan/0000")
    played = [trial.vary(work.turns) for work in [*mutants(trial), *routes(trial)]]
    assert len(played) > 20
    for outcome in played:
        assert judge(trial.instance, trial.instance.rubric, outcome) == outcome.score


def test_a_rubric_that_is_the_derived_one_agrees_with_it_on_everything(trial_with: Write) -> None:
    trial = trial_with("library/renew-loan/0001", Instance.derived_rubric)
    judged = list(agreement_on(trial))
    assert {j.side for j in judged} >= {"oracle", "right", "wrong"}
    assert all(j.agreed and j.expert_points == j.derived_points and j.why == () for j in judged)


def test_an_expert_who_asks_for_less_finds_the_derived_rubric_stricter(trial_with: Write) -> None:
    def lax(instance: Instance) -> Rubric:
        kept = [c for c in instance.derived_rubric().criteria if c.kind == "expect" and c.layer != "selection"]
        kept = [replace(c, after=()) for c in kept]
        return Rubric([*kept, forbid_guessed_ids(), *guards(a for c in kept for a in c.allows)])

    judged = list(agreement_on(trial_with("library/renew-loan/0002", lax)))
    apart = [j for j in judged if not j.agreed]
    assert apart
    assert all(j.expert and not j.derived for j in apart)
    lines = disagreement_lines(judged)
    assert len(lines) == len(apart)
    assert all(line.startswith("library/renew-loan/0002: ") for line in lines)
    assert any("the expert accepts, the derived rubric rejects: saw-loans: Looked at" in line for line in lines)


def test_an_expert_who_asks_for_more_finds_the_derived_rubric_laxer(trial_with: Write) -> None:
    def strict(instance: Instance) -> Rubric:
        criteria = instance.derived_rubric().criteria
        return Rubric([*criteria, replace(criteria[0], id="never", tools=frozenset({"a tool that nobody has"}))])

    judged = list(agreement_on(trial_with("library/renew-loan/0003", strict)))
    apart = [j for j in judged if not j.agreed]
    assert apart
    assert all(j.derived and not j.expert and j.why[0].startswith("never: ") for j in apart)


def test_derived_rubrics_judge_as_experts_do(found: Agreement) -> None:
    assert found.percent >= AIM
    assert found.tasks == len(STOREFRONT)
    assert {j.side for j in found.judged} == set(SIDES)
    oracles = [j for j in found.judged if j.side == "oracle"]
    assert [(j.derived, j.derived_points) for j in oracles] == [(True, 100)] * len(STOREFRONT)


def test_without_alternatives_another_route_is_what_a_derived_rubric_cannot_know() -> None:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    alone = agreement(env, [STOREFRONT[1]], alternatives=False)
    [other] = [j for j in alone.judged if j.kind == "alternative"]
    assert other.expert
    assert not other.derived
    assert agreement(env, [STOREFRONT[1]]).percent > alone.percent


def test_tables_and_document_count_the_same_pieces(found: Agreement) -> None:
    kinds, families = agreement_tables(found)
    document = agreement_document(found)
    pieces = kinds.columns.index("pieces")
    total = len(found.judged)
    assert int(kinds.rows[-1][pieces]) == total == document["pieces"]
    assert sum(int(row[pieces]) for row in kinds.rows[:-1]) == total
    assert sum(int(row[families.columns.index("pieces")]) for row in families.rows) == total
    assert set(document["by_family"]) == {j.family for j in found.judged}
    assert len(document["disagreements"]) == len(found.disagreements) == len(disagreement_lines(found.judged))


def test_both_rubrics_stand_in_one_table_and_what_they_share_once(library: ToolEnv) -> None:
    instance = library.task_set.instance("library/renew-loan/0000")
    table = rubrics_table(instance, instance.derived_rubric())
    sides = [(row[0], row[1]) for row in table.rows]
    assert len(sides) == len(set(sides))
    assert ("both", "ungrounded") in sides
    assert {side for side, _ in sides} == {"derived", "expert", "both"}
