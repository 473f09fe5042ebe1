"""Attacks on generated worlds: no cheat of worlds made from documents solves a pair, and records are kept."""

from pathlib import Path

import gymnasium as gym
import orjson
import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.blueprints.attacks import ATTACKS as OWN
from palaestra.envs.blueprints.attacks import FROZEN_SCRIPT
from palaestra.envs.synthesis import draw_plan, generate_blueprint, listed_worlds
from palaestra.errors import UnknownNameError
from palaestra.proof import attack_tasks
from palaestra.proof.attacked_world_tables import attacked_world_tables, exceeds
from palaestra.proof.attacked_worlds import (
    RECORD,
    AttackCounts,
    AttackedWorld,
    attack_worlds,
    read_attacked_worlds,
)
from palaestra.proof.attacks import ATTACKS, UNGUARDED

NUMBER = next(iter(listed_worlds()))


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make("palaestra/Synth-v0", world=NUMBER, unlisted=True).unwrapped
    assert isinstance(made, ToolEnv)
    return made


@pytest.mark.parametrize("number", [32, 116])
def test_another_percentage_names_no_second_signer_by_chance(number: int, tmp_path: Path) -> None:
    """Three pairs of each were cheated while only the signer was recorded, and not what the signer covers."""
    (world,) = attack_worlds([number], tmp_path, attacks=["by-heart-handbook"])
    counts = world.attacks["by-heart-handbook"]
    assert sum(count.pairs for count in counts.values()) >= 20
    assert not any(count.cheated for count in counts.values())


def test_the_attacks_of_documents_cheat_no_pair_and_false_replies_solve_none(env: ToolEnv) -> None:
    report = attack_tasks(env, env.task_set.candidates("dev"), [attack.name for attack in OWN])
    for result in report.results:
        assert result.pairs > 0
        assert result.pairs_solved == result.pairs_right, result.attack.name
        assert result.points <= result.attack.ceiling, result.attack.name
    solved = {result.attack.name: result.pairs_solved for result in report.results}
    assert solved["tells-the-other-decision"] == solved["tells-both-decisions"] == 0
    assert solved["asks-in-place-of-reading"] == solved["tries-the-work-first"] == 0


def counts(*, pairs: int, solved: int, right: int) -> AttackCounts:
    return AttackCounts(
        tasks=2 * pairs, solved=0, right=0, points=40.0, pairs=pairs, pairs_solved=solved, pairs_right=right
    )


def world(number: int, **solved: AttackCounts) -> AttackedWorld:
    named = {name.replace("_", "-"): {"train": one} for name, one in solved.items()}
    return AttackedWorld(
        number=number,
        plan=draw_plan(number),
        blueprint=generate_blueprint(number).digest,
        pairs=10,
        attacks=named,
        seconds=1.0,
    )


def test_only_pairs_that_wrong_work_solves_count_as_cheated() -> None:
    right, one, two = (counts(pairs=10, solved=3, right=right) for right in (3, 2, 1))
    assert exceeds(world(0, honest=right, lucky=one, cheat=two)) == {"cheat": 2}


def test_the_tables_name_each_attack_and_each_world_in_which_it_cheats() -> None:
    worlds = [
        world(0, cheat=counts(pairs=10, solved=2, right=0), frozen_script=counts(pairs=10, solved=4, right=4)),
        world(1, cheat=counts(pairs=10, solved=0, right=0), frozen_script=counts(pairs=10, solved=1, right=1)),
    ]
    attacks, exceeding, script = attacked_world_tables(worlds)
    assert attacks.rows == (("cheat", "40", "20", "0", "2", "10.0 %", "2.0", "2"),)
    assert exceeding.rows == (("synth-0", "cheat", "2 of 10"),)
    assert script.rows == (("train", "40", "0", "20", "5", "25.0 %", "40 %"),)


def test_a_world_that_was_attacked_is_not_attacked_again(tmp_path: Path) -> None:
    names = {*ATTACKS, *UNGUARDED, *(attack.name for attack in OWN)}
    whole = world(NUMBER, **dict.fromkeys(names, counts(pairs=1, solved=0, right=0)))
    (tmp_path / RECORD).write_bytes(orjson.dumps(whole) + b"\n" + orjson.dumps(whole)[:40])
    assert FROZEN_SCRIPT in names
    assert read_attacked_worlds(tmp_path) == [whole]
    assert list(attack_worlds([NUMBER], tmp_path)) == []


def test_an_attack_that_does_not_exist_is_refused_and_nothing_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown attack 'lies'"):
        list(attack_worlds([NUMBER], tmp_path, attacks=["lies"]))
    assert read_attacked_worlds(tmp_path) == []
