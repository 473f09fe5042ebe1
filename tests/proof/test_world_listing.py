"""Which proved worlds are listed: near-duplicates, unproved and stale ones are left out, with the reason."""

from dataclasses import replace
from pathlib import Path

import orjson

from joined.worlds import joined
from palaestra.envs.blueprints import Blueprint
from palaestra.envs.blueprints.tool_style import PLAIN
from palaestra.envs.synthesis.generator import WorldPlan
from palaestra.proof.attacked_worlds import AttackCounts, AttackedWorld
from palaestra.proof.world_listing import LEFT_OUT, save_left_out, select_worlds
from palaestra.proof.worlds import WorldProof, blueprint_faults

BLUEPRINTS = {
    0: joined("clinic"),
    1: replace(joined("clinic"), title="Another title"),
    2: joined("salon"),
    3: joined("salon", seed=1),
}


def _proof(number: int, blueprint: Blueprint, *faults: str) -> WorldProof:
    counts = dict.fromkeys(
        ("tables", "tools", "families", "pairs", "rules", "tasks", "criteria", "mutants", "routes", "attacks"), 1
    )
    plan = WorldPlan(number=number, split="train", domain="clinic", mechanisms=("booking", "ledger"), style=PLAIN)
    return WorldProof(
        number=number, plan=plan, blueprint=blueprint.digest, tasks_digest="", seconds=1, faults=faults, **counts
    )


def test_a_planted_near_duplicate_is_not_listed_and_the_reason_names_the_other_world() -> None:
    chosen = select_worlds([_proof(n, b) for n, b in BLUEPRINTS.items()], 9, make=BLUEPRINTS.__getitem__)
    assert 0 in chosen.listed
    assert 2 in chosen.listed
    assert chosen.left_out[1][0].startswith("near-duplicate of synth-0: 0.000 apart")


def test_a_near_duplicate_of_a_world_that_is_not_listed_is_listed() -> None:
    proofs = [_proof(0, BLUEPRINTS[0], "a fault"), _proof(1, BLUEPRINTS[1])]
    chosen = select_worlds(proofs, 9, make=BLUEPRINTS.__getitem__)
    assert (list(chosen.listed), dict(chosen.left_out)) == ([1], {0: ("a fault",)})


def test_a_world_whose_blueprint_changed_is_not_listed() -> None:
    chosen = select_worlds([_proof(0, BLUEPRINTS[2])], 9, make=BLUEPRINTS.__getitem__)
    assert not chosen.listed
    assert "prove it again" in chosen.left_out[0][0]


def _attacked(number: int, blueprint: Blueprint, cheated: int) -> AttackedWorld:
    counts = AttackCounts(tasks=8, solved=8, right=2, points=0.0, pairs=4, pairs_solved=cheated + 1, pairs_right=1)
    plan = _proof(number, blueprint).plan
    attacks = {"by-heart-handbook": {"train": counts}}
    return AttackedWorld(number=number, plan=plan, blueprint=blueprint.digest, pairs=9, attacks=attacks, seconds=1)


def test_worlds_that_an_attack_cheats_or_that_were_not_attacked_as_they_are_now_are_not_listed() -> None:
    proofs = [_proof(0, BLUEPRINTS[0]), _proof(2, BLUEPRINTS[2]), _proof(3, BLUEPRINTS[3])]
    attacked = [_attacked(0, BLUEPRINTS[0], 1), _attacked(2, BLUEPRINTS[2], 2), _attacked(3, BLUEPRINTS[1], 0)]
    chosen = select_worlds(proofs, 9, attacked=attacked, make=BLUEPRINTS.__getitem__)
    assert list(chosen.listed) == [0]
    assert chosen.left_out[2] == ("by-heart-handbook cheats 2 of 9 pairs; at most 1 of a world may be cheated",)
    assert "not attacked as it is generated now" in chosen.left_out[3][0]


def test_no_more_worlds_are_listed_than_asked_for() -> None:
    proofs = [_proof(0, BLUEPRINTS[0]), _proof(2, BLUEPRINTS[2])]
    assert list(select_worlds(reversed(proofs), 1, make=BLUEPRINTS.__getitem__).listed) == [0]


def test_the_reasons_are_stored(tmp_path: Path) -> None:
    save_left_out({2: ("one", "two"), 1: ("three",)}, tmp_path)
    assert orjson.loads((tmp_path / LEFT_OUT).read_bytes()) == {"1": ["three"], "2": ["one", "two"]}


def test_a_world_with_a_request_that_stands_twice_has_a_fault() -> None:
    blueprint = BLUEPRINTS[0]
    assert blueprint_faults(blueprint) == []
    name = next(iter(blueprint.requests))
    twice = replace(blueprint, requests={**blueprint.requests, "once-more": blueprint.requests[name]})
    assert [fault.partition(":")[0] for fault in blueprint_faults(twice)] == ["near-duplicate requests"]
