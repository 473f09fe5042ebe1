"""Attacks on worlds made from documents: a script made from one pair, another handbook's numbers, shortcuts."""

from collections.abc import Callable
from datetime import date

import pytest

from palaestra.envs.attack import WorldScript
from palaestra.envs.blueprints.attacks.by_heart import play_by_heart
from palaestra.envs.blueprints.attacks.frozen_script import (
    TRAINED_ON,
    DecidingFact,
    frozen_script,
    play_frozen_script,
)
from palaestra.envs.blueprints.attacks.halves import other_half
from palaestra.envs.blueprints.attacks.notations import read_value, write_like
from palaestra.envs.blueprints.attacks.shortcuts import (
    refuse_by_a_row_out_of_order,
    refuse_by_the_newest_date,
    refuse_by_the_newest_row,
    refuse_by_the_oldest_date,
    refuse_by_the_oldest_row,
)
from palaestra.envs.blueprints.attacks.sources import REQUEST, FieldSource, HeardEpisode, find_sources, write_from
from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance
from palaestra.envs.rule_twin import handbook_variants, rule_twin
from palaestra.envs.taskset import bundled_tasks
from palaestra.envs.world import ALL_RULES_FROM
from palaestra.records import Json, ToolCall
from worlds.tool_library import compiled

TASKS = bundled_tasks(compiled().world)
EXTEND, TWIN = "tool-library/extend-loan", "tool-library/extend-loan-twin"


def play(script: WorldScript, instance: Instance) -> tuple[list[ToolCall], bool]:
    """The calls that a script makes, and whether they solve the task."""
    episode = LiveEpisode(instance, seed=0, max_turns=60, toolbox=instance.world.toolbox)
    made: list[ToolCall] = []
    turn = next(script, None)
    while turn is not None and episode.evidence.end is None:
        made += turn
        episode.begin_turn()
        answer = tuple(episode.run(tuple(turn)))
        episode.close_turn(answer, readable=True)
        try:
            turn = script.send(answer)
        except StopIteration:
            turn = None
    return made, episode.checklist.score(episode.evidence.end).passed


@pytest.mark.parametrize("text", ["2026-05-31", "31.05.2026", "31/05/2026", "31 May 2026"])
def test_a_day_is_the_same_in_every_notation(text: str) -> None:
    assert read_value(text) == date(2026, 5, 31)
    assert write_like(date(2026, 5, 31), text) == text
    assert read_value(write_like(date(2026, 11, 2), text)) == date(2026, 11, 2)


@pytest.mark.parametrize(("written", "other"), [(1250, 99), ("12.50", "0.99"), ("EUR 12.50", "EUR 0.99")])
def test_an_amount_is_the_same_in_every_notation(written: Json, other: Json) -> None:
    assert read_value(written) == 1250
    assert write_like(99, written) == other


def test_a_value_is_found_where_it_stood_and_read_there_again() -> None:
    heard = HeardEpisode({REQUEST: "Please extend my loan LN-1004 by EUR 3.00."}, [{"rows": [{"id": "TL-7"}]}])
    words, field = next(find_sources("LN-1004", heard)), next(find_sources("TL-7", heard))
    later = HeardEpisode({REQUEST: "Dear desk, extend LN-2222."}, [{"rows": [{"id": "TL-9"}]}])
    assert (write_from(words, later, "LN-1004"), write_from(field, later, "TL-7")) == ("LN-2222", "TL-9")
    assert not list(find_sources("TL-8", heard))


def test_numbers_of_the_handbook_are_known_by_heart() -> None:
    heard = HeardEpisode({}, [{"id": "EXT-1", "title": "Extending", "body": "14"}, {"days": 14}])
    assert list(find_sources(14, heard)) == [FieldSource(1, ("days",))]


@pytest.mark.parametrize(
    ("granted", "refused", "value", "refuses"),
    [(1, 2, 2, True), (1, 2, 0, False), (1, 2, 9, True), (False, True, True, True), (None, "x", "y", True)],
)
def test_the_field_that_differed_decides(granted: Json, refused: Json, value: Json, refuses: bool) -> None:
    fact = DecidingFact(FieldSource(0, ("a",)), read_value(granted), read_value(refused))
    assert fact.refuses(HeardEpisode({}, [{"a": value}]), date(2026, 1, 1)) is refuses


def test_the_script_plays_no_task_that_it_was_made_from() -> None:
    for family in (EXTEND, TWIN):
        assert not list(play_frozen_script(TASKS.instance(f"{family}/{TRAINED_ON:04d}")))


def test_the_script_solves_another_task_of_the_same_refusal_and_not_the_twin_of_another() -> None:
    script = frozen_script(TASKS.world, EXTEND)
    assert script is not None
    assert script.fact is not None
    first = TASKS.instance(f"{TWIN}/{TRAINED_ON:04d}")
    solved = {_section(one): set[bool]() for one in (first,)}
    for index in TASKS.indices(EXTEND, "train")[1:10]:
        granted, refused = (TASKS.instance(f"{family}/{index:04d}") for family in (EXTEND, TWIN))
        made, passed = play(play_frozen_script(granted), granted)
        assert passed is (list(granted.oracle) == made)
        solved.setdefault(_section(refused), set()).add(play(play_frozen_script(refused), refused)[1])
    assert solved.pop(_section(first)) == {True}
    assert solved
    assert all(results == {False} for results in solved.values())


def _section(task: Instance) -> object:
    return next(call.arguments["policy_id"] for call in task.oracle if "policy_id" in call.arguments)


def test_by_heart_does_what_another_handbook_asks_for() -> None:
    variants = handbook_variants(TASKS.world)
    assert variants is not None
    wrong = 0
    for task in TASKS.candidates("dev"):
        instance = TASKS.instance(task)
        twin = rule_twin(instance, variants(instance.spec.world_seed, ALL_RULES_FROM))
        made, passed = play(play_by_heart(instance), instance)
        if made:
            assert twin is not None
            assert made == list(twin.oracle)[: len(made)]
            wrong += not passed
    assert wrong


def test_the_other_half_of_a_pair_is_its_twin_and_the_other_way_round() -> None:
    task, twin = TASKS.instance(f"{EXTEND}/0000"), TASKS.instance(f"{TWIN}/0000")
    found, back = other_half(task), other_half(twin)
    assert found is not None
    assert back is not None
    assert (found.fingerprint(), back.fingerprint()) == (twin.fingerprint(), task.fingerprint())


@pytest.mark.parametrize(
    "refuse",
    [
        refuse_by_a_row_out_of_order,
        refuse_by_the_newest_date,
        refuse_by_the_newest_row,
        refuse_by_the_oldest_date,
        refuse_by_the_oldest_row,
    ],
)
def test_no_look_of_a_row_tells_a_task_from_its_twin(refuse: Callable[[Instance], WorldScript]) -> None:
    tasks = [task for task in TASKS.candidates("train") if "-twin/" not in task]
    pairs = [(TASKS.instance(task), TASKS.instance(task.replace("/0", "-twin/0"))) for task in tasks]
    solved = sum(all(play(refuse(half), half)[1] for half in pair) for pair in pairs)
    assert solved <= len(pairs) // 8


def test_a_row_that_shows_itself_is_refused_by_and_no_other() -> None:
    found = set[bool]()
    for task in TASKS.candidates("train"):
        instance = TASKS.instance(task)
        made, _ = play(refuse_by_the_newest_row(instance), instance)
        found.add(any(call.tool in {"decline_request", "escalate_request"} for call in made))
    assert found == {True, False}
