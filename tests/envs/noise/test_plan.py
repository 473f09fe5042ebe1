"""What noise makes of a task before anything happens, and that no switch changes what another one draws."""

from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.schema import Customer, Order, OrderLine, Shipment, Ticket
from worlds.noisy import SWITCHES, storefront

TASK = "storefront/refund-damaged-item/5000"
LOST = "storefront/lost-parcel/5000"


def begun(noise: dict[str, Any], seed: int = 0, task: str = TASK) -> ToolEnv:
    env = storefront(noise)
    env.reset(seed=seed, options={"task": task})
    return env


def planted(env: ToolEnv) -> list[Ticket]:
    plain = env.task_set.instance(env.task.id)
    return [t for t in env.state.find(Ticket) if plain.initial_state.peek(Ticket, t.id) is None]


@pytest.mark.parametrize("count", [1, 3, 5])
def test_so_many_notes_contradict_records_that_the_task_turns_on(count: int) -> None:
    env = begun({"conflicts": count}, task=LOST)
    notes = planted(env)
    assert len(notes) == count
    plain = env.task_set.instance(LOST)
    for note in notes:
        assert note.opened < env.instance.start
        assert note.status == "resolved"
        customer = env.state.get(Customer, note.customer_id)
        orders = env.state.find(Order, customer_id=customer.id)
        truths = {str(customer.tier) + "."} | {str(order.total_cents) for order in orders}
        assert not truths & set(note.subject.split())
        assert plain.initial_state.get(Customer, customer.id) == customer


def test_a_note_is_about_a_record_and_says_something_else() -> None:
    subjects = {note.subject for seed in range(12) for note in planted(begun({"conflicts": 4}, seed, LOST))}
    assert any("said to have arrived" in s for s in subjects)
    env = begun({"conflicts": 1}, task=LOST)
    for subject in subjects:
        for word in subject.split():
            if word.startswith("LIN-"):
                line = env.state.get(OrderLine, word)
                assert subject.endswith(" opened" if not line.opened else " unopened")
            if word.startswith("ORD-") and "arrived" in subject:
                days = [str(s.delivered) for s in env.state.find(Shipment, order_id=word)]
                assert subject.rpartition(" ")[2] not in days


def test_planted_notes_are_no_changes_of_the_agent_and_stand_before_the_first_call() -> None:
    env = begun({"conflicts": 5})
    assert (env.changes, env.journal) == ((), ())
    assert env.state_hash() == env.instance.initial_state.state_hash()
    assert env.state_hash() != env.task_set.instance(TASK).initial_state.state_hash()


def test_the_task_itself_is_never_touched() -> None:
    env = storefront({name: value for switch in SWITCHES.values() for name, value in switch.items()})
    instance = env.task_set.instance(TASK)
    before = instance.fingerprint()
    env.reset(seed=0, options={"task": TASK})
    for call in env.oracle():
        if env.end is None:
            env.step({"tool": call.tool, "arguments": dict(call.arguments)})
    assert instance.fingerprint() == before
    assert env.task_set.rebuild(TASK).fingerprint() == before


def test_no_switch_changes_what_another_one_draws() -> None:
    together = {name: value for switch in SWITCHES.values() for name, value in switch.items()}
    alls = begun(together)
    noise_state = alls.episode.noise_state
    assert noise_state is not None
    spelling = noise_state.noise_plan.spelling
    assert spelling is not None

    renamed = begun(dict(SWITCHES["renames"])).episode.noise_state
    assert renamed is not None
    assert renamed.noise_plan.spelling is not None
    kept = renamed.noise_plan.spelling.tools
    assert {own: spelling.tools[own] for own in kept} == kept

    lured = begun(dict(SWITCHES["injections"])).episode.noise_state
    assert lured is not None
    assert lured.noise_plan.lures == noise_state.noise_plan.lures
    assert planted(begun(dict(SWITCHES["conflicts"]))) == planted(alls)

    added = begun(dict(SWITCHES["distractors"])).episode.noise_state
    assert added is not None
    assert [t.name for t in added.noise_plan.toolbox] == [t.name for t in noise_state.noise_plan.toolbox]


def test_failures_hit_the_same_calls_whatever_else_is_on() -> None:
    def failed(noise: dict[str, Any]) -> list[bool]:
        env = begun({**noise, "failures": 30})
        looks = ({"tool": "search_handbook", "arguments": {"query": f"word {n}"}} for n in range(40))
        return [env.step(look)[-1]["events"][0].error == "unavailable" for look in looks]

    alone = failed({})
    assert any(alone)
    assert failed({"latency": 300, "events": 600, "distractors": 9, "caps": True, "injections": 50}) == alone


def test_another_seed_or_task_gives_other_noise() -> None:
    def told(seed: int, task: str) -> tuple[str, ...]:
        noise_state = begun({"renames": True, "injections": 1}, seed, task).episode.noise_state
        assert noise_state is not None
        assert noise_state.noise_plan.spelling is not None
        return (
            *noise_state.noise_plan.spelling.tools.values(),
            *(lure.canary for lure in noise_state.noise_plan.lures),
        )

    other = "storefront/refund-damaged-item/5001"
    assert len({told(0, TASK), told(1, TASK), told(0, other)}) == 3
    assert told(0, TASK) == told(0, TASK)


def test_the_action_space_and_the_legal_actions_are_of_the_tools_on_offer() -> None:
    env = begun({"renames": True, "distractors": 10})
    offered = {tool.name for tool in env.offered_tools}
    env.action_space.seed(1)
    for action in (*(env.action_space.sample() for _ in range(60)), *env.legal_actions(60)):
        assert isinstance(action, dict)
        assert action["tool"] in offered
        assert action in env.action_space
    before = env.action_space
    env.reset(seed=1, options={"task": TASK})
    assert env.action_space is before
    assert {tool.name for tool in env.offered_tools} != offered
