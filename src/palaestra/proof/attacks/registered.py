"""The attacks that a world brings, as attacks like any other."""

from collections.abc import Mapping
from functools import lru_cache

from palaestra.envs import World
from palaestra.envs.attack import WorldAttack, load_attacks
from palaestra.proof.attacks.attack import Attack
from palaestra.proof.attacks.context import PrivilegedAttackContext
from palaestra.proof.trial import AttackScript


@lru_cache(maxsize=64)
def world_attacks(world: World) -> Mapping[str, Attack]:
    """The attacks that a world brings, by name.

    Raises:
        PackError: the module that it names cannot be loaded or holds something else.
    """
    return {attack.name: _as_attack(attack) for attack in load_attacks(world)}


def _as_attack(own: WorldAttack) -> Attack:
    def play(context: PrivilegedAttackContext) -> AttackScript:
        yield from own.play(context.trial.instance)

    return Attack(
        name=own.name,
        tries=own.tries,
        aim="world",
        needs="call",
        privileged=own.privileged,
        ceiling=own.ceiling,
        worth=own.worth,
        play=play,
    )
