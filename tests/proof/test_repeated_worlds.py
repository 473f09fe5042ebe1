"""Generated worlds repeat to the byte in processes with other seeds of hashes; what differs is told."""

from dataclasses import replace
from pathlib import Path

from palaestra.proof.repeated_worlds import (
    RECORD,
    RepeatedWorld,
    play_world,
    read_repeats,
    repeat_table,
    repeat_worlds,
    unequal_worlds,
)

WORLDS = (3, 17)
STEPS = 60


def test_worlds_come_out_alike_in_processes_and_a_run_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    told: list[str] = []
    played = repeat_worlds(WORLDS, tmp_path, steps=STEPS, processes=2, done=lambda one: told.append(one.name))
    assert told == [f"synth-{number} in process {copy}" for copy in (1, 2) for number in WORLDS]
    assert unequal_worlds(played) == []
    assert [(one.number, one.copy, one.steps) for one in played] == [
        (n, copy, STEPS) for copy in (0, 1) for n in WORLDS
    ]
    assert repeat_table(played).rows == (("2", "2", str(sum(o.episodes for o in played[:2])), "120", "2"),)

    path = tmp_path / RECORD
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])
    again: list[str] = []
    assert repeat_worlds(WORLDS, tmp_path, steps=STEPS, processes=2, done=lambda one: again.append(one.name)) == played
    assert sorted(again) == sorted(told)
    assert sorted(read_repeats(tmp_path), key=lambda one: (one.copy, one.number)) == played


def test_random_play_is_more_than_refused_calls() -> None:
    """A digest is of what was played: fewer steps, and another world, come to another one."""
    whole = play_world(3, copy=0, steps=STEPS)
    assert whole.episodes > 1
    assert (
        len({whole.digest, play_world(3, copy=0, steps=STEPS - 1).digest, play_world(17, copy=0, steps=STEPS).digest})
        == 3
    )


def test_a_world_that_comes_out_in_two_ways_is_named() -> None:
    one = RepeatedWorld(number=5, copy=0, steps=9, episodes=1, blueprint="b", digest="d")
    assert unequal_worlds([one, replace(one, copy=1)]) == []
    assert unequal_worlds([one, replace(one, copy=1, digest="e")]) == ["synth-5 came out in 2 ways"]
    assert unequal_worlds([one, replace(one, copy=1, blueprint="c")]) == ["synth-5 came out in 2 ways"]
