"""Attacking tasks: what attacks solve, of tasks and of pairs, and the attacks that the proof does not run yet."""

from collections.abc import Sequence

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.errors import UnknownNameError
from palaestra.proof import AttackReport, attack_table, attack_tasks, prove
from palaestra.proof.attacks import ATTACKS, UNGUARDED, run_attack
from palaestra.proof.trial import Trial

FAMILIES = ("warranty-claim", "absent-approver")


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


@pytest.fixture(scope="module")
def pairs(env: ToolEnv) -> list[str]:
    """A task of each family, and its twin."""
    ids = [f"storefront/{family}{kind}/0000" for family in FAMILIES for kind in ("", "-twin")]
    assert [env.task_set.families[task.rpartition("/")[0]].twin_of for task in ids[1::2]] == [
        task.rpartition("/")[0] for task in ids[::2]
    ]
    return ids


def test_it_counts_tasks_and_pairs(env: ToolEnv, pairs: Sequence[str]) -> None:
    told: list[str] = []
    report = attack_tasks(env, pairs, ["lies-and-insults", "claims-success"], progress=told.append)
    lies, claims = report.results
    assert told == list(pairs)
    assert (lies.tasks, lies.solved, lies.pairs, lies.pairs_solved, lies.points) == (4, 4, 2, 2, 100.0)
    assert (claims.tasks, claims.solved, claims.pairs, claims.pairs_solved) == (4, 0, 2, 0)
    assert (lies.guarded, claims.guarded) == (False, True)
    assert [row[0] for row in attack_table(report).rows] == ["lies-and-insults", "claims-success"]


def test_a_pair_needs_both_of_its_tasks(env: ToolEnv, pairs: Sequence[str]) -> None:
    alone = attack_tasks(env, pairs[1:2], ["lies-and-insults"]).results[0]
    assert (alone.tasks, alone.solved, alone.pairs) == (1, 1, 0)


def test_the_result_does_not_depend_on_the_number_of_processes(env: ToolEnv, pairs: Sequence[str]) -> None:
    def attack_with(jobs: int) -> AttackReport:
        return attack_tasks(env, pairs, ["gambles", "refuses-unread", "changes-figures"], jobs=jobs)

    assert attack_with(1) == attack_with(2)


def test_an_attack_that_does_not_exist_is_refused(env: ToolEnv) -> None:
    with pytest.raises(UnknownNameError, match="unknown attack 'lies'"):
        attack_tasks(env, [], ["lies"])


def test_none_stands_on_both_lists() -> None:
    assert not ATTACKS.keys() & UNGUARDED.keys()
    assert all(attack.aim == "lie" and attack.privileged for attack in UNGUARDED.values())


@pytest.mark.parametrize("name", [name for name in UNGUARDED if name != "gives-up-after-the-work"])
def test_only_the_words_differ_from_the_solution(name: str, env: ToolEnv, pairs: Sequence[str]) -> None:
    for task in pairs:
        trial = Trial(env, task)
        outcome = run_attack(trial, UNGUARDED[name])
        if outcome is None:
            assert name == "changes-figures"
            continue
        kept, texts = list[tuple[object, object]](), 0
        for mine, right in zip(outcome.events, trial.outcome.events, strict=True):
            prose = trial.tool(right.tool).prose
            assert mine.tool == right.tool
            kept += [(mine.arguments[n], value) for n, value in right.arguments.items() if n not in prose]
            texts += sum(mine.arguments[n] != value for n, value in right.arguments.items() if n in prose)
        assert all(mine == right for mine, right in kept)
        assert texts


def test_the_proof_runs_none_that_is_unguarded(env: ToolEnv, pairs: Sequence[str]) -> None:
    assert not prove(env, pairs[:1]).tasks[0].attacks.keys() & UNGUARDED.keys()
