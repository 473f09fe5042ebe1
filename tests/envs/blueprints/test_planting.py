"""Rows that a task adds to its world have ids of gaps, and what is not stated of them is drawn as for other rows."""

from dataclasses import replace
from functools import cache
from typing import Any

from palaestra.envs.blueprints import Blueprint, FieldSpec, Plant, check_blueprint, compile_blueprint
from palaestra.envs.blueprints.row_drawing import id_numbers
from palaestra.envs.instance import Instance
from palaestra.envs.state.schema import number_of
from palaestra.envs.task import Split
from palaestra.envs.taskset import bundled_tasks
from palaestra.records import Row
from worlds.tool_library import SEED, blueprint, compiled

WAITS = "EXT-2"


@cache
def library() -> Blueprint:
    """The tool library with one refusal, which adds a hold of which only the tool and the status are stated."""
    whole = blueprint()
    request = whole.requests["extend-loan"]
    waits = next(one for one in request.refusals if one.section == WAITS)
    plant = (Plant(insert="hold", fields={"tool": "loan.tool", "status": "waiting"}),)
    asked = replace(
        request, refusals=(replace(waits, when=_waits(waits.when), shows=_waits(waits.shows), plant=plant),)
    )
    instances: dict[Split, int] = {"train": 40, "dev": 1, "heldout": 1}
    return replace(whole, id="gap-library", requests={"extend-loan": asked}, instances=instances)


def _waits(text: str) -> str:
    """The condition without its second half: anybody waits, whoever it is."""
    return text.replace(" and h.member != loan.member", "")


def planted(split: str = "train") -> list[tuple[Instance, Row]]:
    """The twins of a split, each with the row that was added."""
    tasks = bundled_tasks(compile_blueprint(library()).world)
    twins = [tasks.instance(task) for task in tasks.candidates(split) if "-twin/" in task]
    return [(twin, next(row for row in _holds(twin) if row.id not in _base_ids(twin))) for twin in twins]


def _holds(task: Instance) -> list[Any]:
    return task.initial_state.find(compile_blueprint(library()).kinds["hold"])


def _base_ids(task: Instance) -> frozenset[str]:
    return frozenset(task.initial_state.base.rows["holds"])


def test_ids_of_a_population_have_gaps_and_do_not_grow_with_the_rows_that_they_name() -> None:
    made = compiled()
    for spec in blueprint().entities.values():
        rows = made.world.base(SEED).rows[spec.plural]
        numbers = [number_of(key) for key in rows]
        assert set(numbers) < set(id_numbers(spec, len(rows)))
    loans: list[Any] = list(made.world.base(SEED).rows["loans"].values())
    owners = [loan.member_id for loan in loans]
    assert owners != sorted(owners)


def test_a_planted_row_stands_in_a_gap_at_any_place() -> None:
    spec = library().entities["hold"]
    places: list[float] = []
    for twin, row in planted():
        base = _base_ids(twin)
        assert number_of(row.id) in id_numbers(spec, len(base))
        keys = sorted([*base, row.id])
        places.append(keys.index(row.id) / (len(keys) - 1))
    # Of 40 places that are equally likely, none is in a third with a chance of (2/3) ** 40.
    assert min(places) < 1 / 3 < 2 / 3 < max(places)
    assert any(1 / 3 < place < 2 / 3 for place in places)


def test_a_planted_row_is_drawn_as_the_population_is_where_nothing_is_stated() -> None:
    placed = library().entities["hold"].fields["placed"]
    assert placed.days is not None
    found: list[Any] = [(twin, row) for twin, row in planted()]
    days = {(row.placed - twin.start.date()).days for twin, row in found}
    assert len(days) > 5
    assert placed.days[0] <= min(days) <= max(days) <= placed.days[1]
    assert len({row.member_id for _, row in found}) > 5
    assert {row.status for _, row in found} == {"waiting"}


def test_a_value_that_follows_from_others_is_worked_out_for_a_planted_row() -> None:
    whole = library()
    hold = whole.entities["hold"]
    until = FieldSpec(type="date", value="hold.placed + 30")
    changed = replace(
        whole,
        id="until-library",
        entities={**whole.entities, "hold": replace(hold, fields={**hold.fields, "until": until})},
    )
    assert [one for one in check_blueprint(changed) if "hold" in str(one)] == []
    made = compile_blueprint(changed)
    twin = bundled_tasks(made.world).instance("until-library/extend-loan-twin/0000")
    holds: list[Any] = twin.initial_state.find(made.kinds["hold"])
    assert {(hold.until - hold.placed).days for hold in holds} == {30}


def test_a_row_that_an_action_makes_has_the_next_id() -> None:
    for twin, row in planted()[:5]:
        numbers = [number_of(key) for key in (*_base_ids(twin), row.id)]
        assert number_of(twin.initial_state.fork().next_id(type(row))) == max(numbers) + 1


def test_the_same_task_plants_the_same_row() -> None:
    first, again = planted("dev"), planted("dev")
    assert [row for _, row in first] == [row for _, row in again]
