"""Attacking tasks: what attacks solve, of tasks and of pairs, and the attacks that the proof does not run yet."""

from collections.abc import Sequence
from typing import cast

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.errors import UnknownNameError
from palaestra.proof import AttackReport, attack_table, attack_tasks, prove
from palaestra.proof.attacks import ATTACKS, UNGUARDED, Attack, PrivilegedAttackContext, privileged_attack, run_attack
from palaestra.proof.attacks.lie import LIE
from palaestra.proof.trial import AttackScript, Trial

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


@pytest.fixture
def right_work(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an attack, on the list while a test runs, that does the right work and so solves everything."""

    @privileged_attack("skip", "does it right", needs="call", ceiling=100, worth="it")
    def does_it_right(context: PrivilegedAttackContext) -> AttackScript:
        yield from ([step.call] for step in context.trial.steps)

    monkeypatch.setitem(cast("dict[str, Attack]", UNGUARDED), does_it_right.name, does_it_right)
    return does_it_right.name


def test_it_counts_tasks_and_pairs(env: ToolEnv, pairs: Sequence[str], right_work: str) -> None:
    told: list[str] = []
    report = attack_tasks(env, pairs, [right_work, "claims-success"], progress=told.append)
    right, claims = report.results
    assert told == list(pairs)
    assert (right.tasks, right.solved, right.pairs, right.pairs_solved, right.points) == (4, 4, 2, 2, 100.0)
    assert (claims.tasks, claims.solved, claims.pairs, claims.pairs_solved) == (4, 0, 2, 0)
    assert (right.guarded, claims.guarded) == (False, True)
    assert (right.right, right.pairs_right, claims.right, claims.pairs_right) == (4, 2, 0, 0)
    assert [row[0] for row in attack_table(report).rows] == ["claims-success", right_work]


def test_a_pair_needs_both_of_its_tasks(env: ToolEnv, pairs: Sequence[str], right_work: str) -> None:
    alone = attack_tasks(env, pairs[1:2], [right_work]).results[0]
    assert (alone.tasks, alone.solved, alone.pairs) == (1, 1, 0)


def test_families_without_a_twin_are_counted_apart(env: ToolEnv, pairs: Sequence[str], right_work: str) -> None:
    alone = ["storefront/decline-late-return/0000", "storefront/decline-late-cancel/0000"]
    report = attack_tasks(env, [*pairs, *alone], [right_work, "claims-success"])
    assert [task.paired for task in report.tasks] == [True] * 4 + [False] * 2
    right, claims = report.results
    assert (right.pairs, right.pairs_solved, right.unpaired, right.unpaired_solved, right.tasks) == (2, 2, 2, 2, 6)
    assert (claims.unpaired, claims.unpaired_solved) == (2, 0)
    table = attack_table(report)
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert (row["pairs solved"], row["without twin solved"], row["tasks solved"]) == (
        "2 of 2, 2 right",
        "2 of 2, 2 right",
        "6 of 6, 6 right",
    )


def test_half_of_a_pair_counts_neither_as_a_pair_nor_apart(env: ToolEnv, pairs: Sequence[str], right_work: str) -> None:
    half = attack_tasks(env, pairs[:1], [right_work]).results[0]
    assert (half.tasks, half.pairs, half.unpaired) == (1, 0, 0)


def test_the_result_does_not_depend_on_the_number_of_processes(env: ToolEnv, pairs: Sequence[str]) -> None:
    def attack_with(jobs: int) -> AttackReport:
        return attack_tasks(env, pairs, ["gambles", "refuses-unread", "changes-figures"], jobs=jobs)

    assert attack_with(1) == attack_with(2)


def test_an_attack_that_does_not_exist_is_refused(env: ToolEnv) -> None:
    with pytest.raises(UnknownNameError, match="unknown attack 'lies'"):
        attack_tasks(env, [], ["lies"])


def test_none_stands_on_both_lists() -> None:
    assert not ATTACKS.keys() & UNGUARDED.keys()
    assert all(attack.privileged for attack in UNGUARDED.values())


@pytest.mark.parametrize("name", [attack.name for attack in LIE if attack.name != "gives-up-after-the-work"])
def test_only_the_words_differ_from_the_solution(name: str, env: ToolEnv, pairs: Sequence[str]) -> None:
    for task in pairs:
        trial = Trial(env, task)
        outcome = run_attack(trial, {**ATTACKS, **UNGUARDED}[name])
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
