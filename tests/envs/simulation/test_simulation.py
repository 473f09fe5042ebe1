"""Simulated worlds: without errors they are the true world, and each kind of error does to rewards what it should."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from palaestra.envs import Instance, TaskSet, bundled_tasks
from palaestra.envs.blueprints import load_world
from palaestra.envs.simulation import (
    ErrorSimulator,
    SimulatedEpisode,
    can_simulate,
    measure_preferences,
    measure_simulation,
    play_simulation,
    preference_table,
    sibling_pairs,
    simulation_table,
)
from palaestra.envs.simulation.measurement import POLICIES, PolicyName
from palaestra.envs.state import Overlay
from palaestra.envs.world import open_world
from palaestra.errors import EpisodeOverError, ReplyError
from palaestra.records import Message, Row

LIBRARY = Path("examples/blueprints/tool_library.yaml")
EXTEND, REFUSE, WORN = (f"tool-library/{name}/0000" for name in ("extend-loan", "extend-loan-twin", "worn-tool"))

LOAN = {
    "id": "LN-1001",
    "member_id": "MB-1001",
    "tool_id": "TL-1001",
    "started": "2026-01-01",
    "due": "2026-01-22",
    "extensions": 1,
    "status": "active",
}


@cache
def task_set(place: str = "") -> TaskSet:
    return bundled_tasks(open_world(place) if place else load_world(LIBRARY))


@cache
def tasks(place: str = "", every: int = 1) -> tuple[Instance, ...]:
    found = task_set(place)
    ids = [task for split in found.splits for task in found.ids(split)]
    return tuple(found.instance(task) for task in ids[::every])


class ChangedAnswers:
    """Answers as the true world does, and changes some answers by a function of tool and answer."""

    def __init__(self, instance: Instance, change: Callable[[str, Any], Any]) -> None:
        self._true = ErrorSimulator(instance, percent=0)
        self._change = change
        self.asked: list[list[Message]] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        self.asked.append(list(messages))
        tool: str = orjson.loads(messages[-1]["content"])["call"]["tool"]
        return orjson.dumps(self._change(tool, orjson.loads(self._true.complete(messages, seed=seed)))).decode()


class Scripted:
    """Answers from a list."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.seeds: list[int] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        del messages
        self.seeds.append(seed)
        return self._answers.pop(0)


def play(task: str, change: Callable[[str, Any], Any], policy: PolicyName) -> tuple[bool, bool | None]:
    """Whether a task is solved, truly and in the simulation."""
    instance = task_set().instance(task)
    outcome = play_simulation(instance, ChangedAnswers(instance, change), POLICIES[policy])
    return outcome.truly_solved, outcome.solved_in_simulation


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("place", ["", "storefront"])
def test_without_errors_the_simulation_is_the_true_world(place: str, policy: PolicyName) -> None:
    for instance in tasks(place, 80 if place else 1):
        simulator = ErrorSimulator(instance, percent=0)
        episode = SimulatedEpisode(instance, simulator)
        while not episode.ended and (call := POLICIES[policy](episode)) is not None:
            episode.step(call)
        assert episode.true_score() == episode.simulated_score()
        assert episode.true.digest() == episode.believed.digest(), "the same rows, events, clock and checklist"
        assert episode.true_score().passed
        assert not simulator.errors
        assert not any(turn.differs for turn in episode.turns)


def believe(task: str, edit: Callable[[Overlay, Row], object], policy: PolicyName) -> tuple[bool, bool | None]:
    """Whether a task is solved, truly and in a simulation that answers from edited rows; the edit is given the loan."""
    instance = task_set().instance(task)
    simulator = ErrorSimulator(instance, percent=0)
    state = simulator.world.state
    key = next(i for i in instance.given if i.startswith("LN-"))
    edit(state, state.get(instance.world.schema["loans"].kind, key))
    outcome = play_simulation(instance, simulator, POLICIES[policy])
    return outcome.truly_solved, outcome.solved_in_simulation


def test_a_wrong_field_that_decides_pays_for_wrong_work() -> None:
    def edit(state: Overlay, loan: Row) -> None:
        state.update(loan, extensions=3)

    assert believe(EXTEND, edit, "fixed") == (True, False)
    assert believe(EXTEND, edit, "reactive") == (False, True)


def test_a_wrong_field_that_hides_a_refusal_pays_for_granting() -> None:
    def edit(state: Overlay, loan: Row) -> None:
        state.update(loan, extensions=0)

    assert believe(REFUSE, edit, "fixed") == (True, False)
    assert believe(REFUSE, edit, "reactive") == (False, True)


def test_an_invented_row_pays_for_wrong_work() -> None:
    def edit(state: Overlay, loan: Any) -> None:
        schema = task_set().world.schema
        hold: Any = next(hold for hold in state.find(schema["holds"].kind, tool_id=loan.tool_id))
        other = next(m.id for m in state.find(schema["members"].kind) if m.id != loan.member_id)
        state.insert(replace(hold, id="HD-9001", member_id=other, status="waiting"))

    assert believe(EXTEND, edit, "fixed") == (True, False)
    assert believe(EXTEND, edit, "reactive") == (False, True)


def test_a_simulator_that_does_not_keep_to_what_it_has_said_pays_for_nothing() -> None:
    def fresh(tool: str, answer: Any) -> Any:
        return {**answer, "extensions": 0} if tool == "get_loan" else answer  # and the write answers from the true rows

    assert play(REFUSE, fresh, "reactive") == (False, False)


def test_a_vanished_write_takes_the_reward_from_right_work() -> None:
    def vanish(tool: str, answer: Any) -> Any:
        if tool != "extend_loan":
            return answer
        return {**answer, "due": "2020-01-01", "extensions": 0}

    assert play(EXTEND, vanish, "fixed") == (True, False)


def test_a_refusal_of_the_simulator_writes_nothing() -> None:
    def refuse(tool: str, answer: Any) -> Any:
        return {"error": {"code": "busy", "message": "Later."}} if tool == "extend_loan" else answer

    assert play(EXTEND, refuse, "fixed") == (True, False)
    instance = task_set().instance(EXTEND)
    episode = SimulatedEpisode(instance, ChangedAnswers(instance, refuse))
    for call in instance.oracle:
        episode.step(call)
    assert [c.table for c in episode.believed.state.changes()] == ["requests"]
    assert [e.error for e in episode.believed.evidence.events if e.tool == "extend_loan"] == ["busy"]


def test_words_beside_the_facts_change_nothing() -> None:
    def rename(tool: str, answer: Any) -> Any:
        return {**answer, "name": "Kim Li"} if tool == "get_member" else answer

    assert play(EXTEND, rename, "fixed") == (True, True)


def test_the_model_reads_schema_call_history_and_rows_shown_so_far() -> None:
    instance = task_set().instance(EXTEND)
    simulator = ChangedAnswers(instance, lambda _, answer: answer)
    play_simulation(instance, simulator, POLICIES["fixed"])
    first, last = (orjson.loads(messages[1]["content"]) for messages in (simulator.asked[0], simulator.asked[-1]))
    assert (first["calls"], first["rows"]) == ([], {})
    assert first["tool"]["name"] == first["call"]["tool"] == "get_request"
    assert set(first["tool"]) == {"name", "description", "parameters"}
    loan = next(row for key, row in last["rows"].items() if key.startswith("LN-"))
    before: Any = instance.initial_state.get(instance.world.schema["loans"].kind, loan["id"])
    assert loan["extensions"] == before.extensions + 1, "what was written is shown as it is now"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("It is done.", "is no JSON"),
        ("x" * 50_000, "more than 40000"),
        ('{"error": "no"}', "refuses without code or message"),
        (orjson.dumps({**LOAN, "started": "soon"}).decode(), "LN-1001.started is 'soon', and no date"),
        (orjson.dumps({**LOAN, "status": "lost"}).decode(), "LN-1001.status is 'lost'"),
    ],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again_and_then_voids_the_episode(answer: str, said: str) -> None:
    instance = task_set().instance(EXTEND)
    simulator = Scripted(answer, answer, answer)
    with pytest.raises(ReplyError, match="in 3 tries") as caught:
        SimulatedEpisode(instance, simulator).step(instance.oracle[0])
    assert said in str(caught.value)
    assert len({*simulator.seeds}) == 3
    good = ErrorSimulator(instance, percent=0)
    assert play_simulation(instance, Scripted(answer, answer, answer), POLICIES["fixed"]).fault
    assert play_simulation(instance, good, POLICIES["fixed"]).fault == ""


def test_answers_in_fences_are_read() -> None:
    instance = task_set().instance(EXTEND)
    content = SimulatedEpisode(instance, Scripted('```json\n{"a": 1}\n```')).step(instance.oracle[0])
    assert content == '{"a":1}'


def test_a_task_without_an_answer_for_other_rows_contradicts_itself() -> None:
    instance = next(i for i in tasks("storefront", 80) if not can_simulate(i))
    episode = SimulatedEpisode(instance, ErrorSimulator(instance, percent=100))
    for call in instance.oracle:
        if not episode.ended:
            episode.step(call)
    assert "states no answer for other rows" in episode.contradiction
    assert episode.simulated_score() is None
    with pytest.raises(EpisodeOverError):
        episode.step(instance.oracle[0])


def test_errors_are_drawn_by_seed_at_their_rate_and_repeat() -> None:
    found = tasks()
    first, again = (measure_simulation(found, percent=20, policy="reactive", seeds=range(3)) for _ in range(2))
    assert first == again
    assert 0.10 < first.differing_share < 0.20
    other = measure_simulation(found, percent=20, policy="reactive", seeds=range(3, 6))
    assert other != first
    kinds = {"wrong field": 0, "vanished write": 0, "invented row": 0}
    for seed in range(3):
        for instance in found:
            simulator = ErrorSimulator(instance, percent=100, seed=seed)
            play_simulation(instance, simulator, POLICIES["fixed"])
            for kind in simulator.errors.values():
                kinds[kind] += 1
    assert min(kinds.values()) > 0, kinds


def test_more_errors_give_more_false_rewards_and_the_table_counts_them() -> None:
    found = tasks()
    reports = [measure_simulation(found, percent=p, policy="fixed", seeds=range(3)) for p in (0, 5, 20)]
    missed = [report.count(truly=True, simulated=False) for report in reports]
    assert missed[0] == 0 < missed[1] < missed[2]
    table = simulation_table(reports, title="Simulations")
    assert table.rows[0] == ("0 %", "fixed", "90", "0.0 %", "90", "90", "0", "0", "0.0 %", "0")
    assert [row[7] for row in table.rows] == [str(count) for count in missed]


def test_right_work_is_always_paid_more_without_errors_and_not_with_many() -> None:
    pairs = sibling_pairs(task_set(), tasks())
    assert len(pairs) == len(tasks())
    without = measure_preferences(pairs, percent=0)
    assert (without.right, without.tied, without.wrong, without.void) == (30, 0, 0, 0)
    with_many = measure_preferences(pairs, percent=30, seeds=range(3))
    assert with_many.wrong > 0
    assert with_many.gap < without.gap
    table = preference_table([without, with_many], title="Work")
    assert table.rows[0][:5] == ("0 %", "30", "30", "0", "0")
