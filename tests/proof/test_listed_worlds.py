"""What the listing of generated worlds says still holds: documents of 25 worlds, and the whole proof of some."""

import pytest

from palaestra.envs.synthesis import WORLD_SPLITS, draw_plan, generate_blueprint, listed_numbers, listed_worlds
from palaestra.envs.synthesis.worlds import numbered_world
from palaestra.envs.taskset import bundled_tasks
from palaestra.proof.worlds import LEAST, prove_world
from palaestra.seeding import Stream
from property.budget import LISTED_PROOFS

LISTED = listed_worlds()
DRAWN = Stream.root("listed worlds that are tested").sample(list(LISTED), min(25, len(LISTED)))
PROVED = DRAWN[:LISTED_PROOFS]


def test_every_split_has_listed_worlds() -> None:
    assert all(listed_numbers(split) for split in WORLD_SPLITS)
    assert sum(len(listed_numbers(split)) for split in WORLD_SPLITS) == len(LISTED)


@pytest.mark.parametrize("number", DRAWN)
def test_a_listed_world_is_generated_and_compiled_as_it_was_listed(number: int) -> None:
    listed, plan = LISTED[number], draw_plan(number)
    assert (plan.split, plan.domain, plan.mechanisms) == (listed.split, listed.domain, listed.mechanisms)
    assert generate_blueprint(number).digest == listed.blueprint
    world = numbered_world(number)
    assert world.name == f"synth-{number}"
    for split in ("train", "dev", "heldout"):
        assert tuple(listed.task_ids(world.name, split)) == bundled_tasks(world).ids(split)


@pytest.mark.parametrize("number", PROVED)
def test_a_listed_world_is_proved_again(number: int) -> None:
    proof = prove_world(number)
    assert proof.faults == ()
    assert (proof.blueprint, proof.tasks_digest) == (LISTED[number].blueprint, LISTED[number].tasks)
    assert all(getattr(proof, name) >= least for name, least in LEAST.items())
