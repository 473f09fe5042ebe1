"""Attacks that a world brings: how they are named, loaded and run beside the proof's own."""

from collections.abc import Iterator
from dataclasses import replace

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv, World
from palaestra.envs.attack import load_attacks
from palaestra.errors import PackError, UnknownNameError
from palaestra.proof import attack_tasks, prove
from palaestra.proof.attack import select_attacks
from palaestra.proof.attacks import ATTACKS, UNGUARDED, world_attacks
from worlds import library_attacks
from worlds.library import LIBRARY
from worlds.registration import LIBRARY_ID, register

TASKS = ("library/renew-loan/0000", "library/lend-book/0000")


@pytest.fixture(scope="module")
def env() -> Iterator[ToolEnv]:
    register()
    made = gym.make(LIBRARY_ID).unwrapped
    assert isinstance(made, ToolEnv)
    yield made
    made.close()


def test_they_run_when_no_attack_is_named_and_by_name(env: ToolEnv) -> None:
    names = [attack.name for attack in select_attacks((), env.world)]
    assert names == [*ATTACKS, *UNGUARDED, "repeats-the-solution", "reads-the-request", "finds-nothing"]
    [named] = select_attacks(["reads-the-request"], env.world)
    assert (named.privileged, named.ceiling, named.aim) == (False, 20, "world")


def test_they_play_the_task_and_are_counted(env: ToolEnv) -> None:
    names = ["repeats-the-solution", "reads-the-request", "finds-nothing"]
    right, blind, idle = attack_tasks(env, TASKS, names).results
    assert (right.tasks, right.solved, right.points) == (2, 2, 100.0)
    assert (blind.tasks, blind.solved) == (2, 0)
    assert idle.tasks == 0


def test_the_proof_does_not_run_them(env: ToolEnv) -> None:
    assert not prove(env, TASKS[:1]).tasks[0].attacks.keys() & world_attacks(env.world).keys()


def test_a_world_without_attacks_has_the_proofs_own_only(env: ToolEnv) -> None:
    bare = replace(LIBRARY, attacks="")
    assert load_attacks(bare) == ()
    with pytest.raises(UnknownNameError, match="unknown attack 'reads-the-request'"):
        select_attacks(["reads-the-request"], bare)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (replace(LIBRARY, attacks="worlds.no_such_module"), "its attacks .worlds.no_such_module. cannot be loaded"),
        (replace(LIBRARY, attacks="worlds.registration"), "has no attribute 'ATTACKS'"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_named(world: World, message: str) -> None:
    with pytest.raises(PackError, match=message):
        load_attacks(world)


def test_a_name_stands_for_one_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    first = library_attacks.ATTACKS[0]
    monkeypatch.setattr(library_attacks, "ATTACKS", (first, first))
    with pytest.raises(PackError, match="share a name"):
        load_attacks(replace(LIBRARY))
    monkeypatch.setattr(library_attacks, "ATTACKS", ("lies",))
    with pytest.raises(PackError, match=r"'lies' in .* is no WorldAttack"):
        load_attacks(replace(LIBRARY))
    monkeypatch.setattr(library_attacks, "ATTACKS", (replace(first, name="lies-and-insults"),))
    with pytest.raises(PackError, match="'lies-and-insults' has the name of one of the proof's"):
        select_attacks((), replace(LIBRARY))
