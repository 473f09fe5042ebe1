"""Selects the proved worlds to list: no near-duplicate of a listed one, proved and attacked in their present form."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from palaestra.durable import write_file
from palaestra.envs.blueprints import Blueprint
from palaestra.envs.synthesis import ListedWorld, generate_blueprint
from palaestra.envs.synthesis.diversity import NEAREST, Neighbour, WorldProfile, find_near_duplicate, profile_world
from palaestra.proof.attacked_world_tables import MOST_IN_A_WORLD, exceeds
from palaestra.proof.attacked_worlds import AttackedWorld
from palaestra.proof.worlds import WorldProof

LEFT_OUT = "left_out.json"
"""The file in a folder of records that says why worlds are not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSelection:
    """The result of a selection among proofs of worlds."""

    listed: Mapping[int, ListedWorld]
    left_out: Mapping[int, tuple[str, ...]]
    """By number: why a world is not listed."""


def select_worlds(
    proofs: Iterable[WorldProof],
    most: int,
    *,
    attacked: Iterable[AttackedWorld] | None = None,
    make: Callable[[int], Blueprint] = generate_blueprint,
) -> WorldSelection:
    """The first worlds that can be listed, by number, and why the others before the last one are not.

    Args:
        proofs: The records of worlds.
        most: Maximum number of listed worlds.
        attacked: The records of attacks; a world without one, or in which an attack cheats too many pairs, is left out.
            `None`: attacks beyond those of the proof do not matter.
        make: Returns the blueprint of a number.
    """
    listed: dict[int, ListedWorld] = {}
    left_out: dict[int, tuple[str, ...]] = {}
    kept: dict[int, WorldProfile] = {}
    attacks = None if attacked is None else {(world.number, world.blueprint): world for world in attacked}
    for proof in sorted(proofs, key=lambda proof: proof.number):
        if len(listed) == most:
            break
        blueprint = make(proof.number) if proof.proved else None
        reasons, profile = (proof.faults, None) if blueprint is None else _judge(proof, blueprint, kept)
        if profile is not None and attacks is not None:
            reasons = tuple(_attack_reasons(attacks.get((proof.number, proof.blueprint))))
        if blueprint is None or profile is None or reasons:
            left_out[proof.number] = reasons
            continue
        kept[proof.number] = profile
        listed[proof.number] = ListedWorld.of(proof.plan, blueprint, proof.tasks_digest)
    return WorldSelection(listed=listed, left_out=left_out)


def save_left_out(left_out: Mapping[int, tuple[str, ...]], out: Path) -> None:
    """Write the reasons why worlds are not listed into a folder of records."""
    plain = {str(number): reasons for number, reasons in sorted(left_out.items())}
    write_file(out / LEFT_OUT, orjson.dumps(plain, option=orjson.OPT_INDENT_2))


def _judge(
    proof: WorldProof, blueprint: Blueprint, kept: Mapping[int, WorldProfile]
) -> tuple[tuple[str, ...], WorldProfile | None]:
    """Why a proved world is not listed, or its features if it is."""
    if blueprint.digest != proof.blueprint:
        return ("its blueprint is another one than was proved; prove it again",), None
    profile = profile_world(blueprint)
    near = find_near_duplicate(profile, kept)
    return ((), profile) if near is None else ((_near_reason(near),), None)


def _attack_reasons(world: AttackedWorld | None) -> Iterator[str]:
    if world is None:
        yield "it was not attacked as it is generated now; `palaestra worlds attack` does"
    elif world.fault:
        yield world.fault
    else:
        for name, count in exceeds(world).items():
            yield f"{name} cheats {count} of {world.pairs} pairs; at most {MOST_IN_A_WORLD} of a world may be cheated"


def _near_reason(near: Neighbour) -> str:
    distance = near.distance
    parts = f"structure {distance.structure:.3f}, surface {distance.surface:.3f}"
    return (
        f"near-duplicate of synth-{near.number}: {distance.whole:.3f} apart ({parts}); a listed world is at least "
        f"{NEAREST} from every other"
    )
