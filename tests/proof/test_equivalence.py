"""Right work after all: what the rules recognise, and what they must not."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import gymnasium as gym
import pytest

from palaestra import register_world
from palaestra.envs import ToolEnv
from palaestra.envs.blueprints import Plant, dump_blueprint
from palaestra.envs.worlds.storefront.schema import Shipment
from palaestra.proof.equivalence import Rule, right_after_all
from palaestra.proof.trial import Trial
from palaestra.proof.variants import insert_calls, move_call, replace_call
from palaestra.records import Json, ToolCall
from palaestra.rubrics import WORLD
from worlds.tool_library import blueprint

REFUND = "storefront/refund-damaged-item/0000"
OTHER_GROUNDS = "storefront/warranty-claim-twin/0004"
CREDITS = "storefront/late-parcels/0000"


@cache
def trial(task: str) -> Trial:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    return Trial(env, task)


def judged(task: str, *calls: ToolCall) -> Rule | None:
    """What the rules say of calls made one a turn."""
    of = trial(task)
    return right_after_all(of, of.play([[call] for call in calls]))


def position(task: str, tool: str) -> int:
    return next(i for i, call in enumerate(trial(task).calls) if call.tool == tool)


def call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


@pytest.mark.parametrize("task", [REFUND, CREDITS])
def test_the_oracles_own_work_is_the_same_work(task: str) -> None:
    assert judged(task, *trial(task).calls) == "same work"


def test_the_work_of_an_alternative_is_right_and_less_of_it_is_not() -> None:
    *_, other = trial(OTHER_GROUNDS).instance.alternatives
    grounds = [call.arguments["policy_id"] for call in other if call.tool == "decline_request"]
    assert grounds == ["RET-1"]
    assert judged(OTHER_GROUNDS, *other) == "alternative"
    assert judged(OTHER_GROUNDS, *(call for call in other if call.tool != "reply")) is None
    assert judged(OTHER_GROUNDS, *(call for call in other if call.tool != "get_warranty_claims")) is None


def test_further_lookups_and_refused_calls_change_nothing_though_they_move_the_clock() -> None:
    calls = trial(REFUND).calls
    assert judged(REFUND, call("get_customer", customer_id="CUS-1001"), *calls) == "same work"
    assert judged(REFUND, call("no_such_tool"), *calls) == "same work"


def test_the_same_acts_knowing_less_are_other_work() -> None:
    calls = trial(REFUND).calls
    assert judged(REFUND, *replace_call(calls, position(REFUND, "get_customer"))) is None
    acts = [step.call for step in trial(REFUND).steps if step.changes or step.call.tool in ("reply", "finish")]
    assert judged(REFUND, *acts) is None


def test_an_answer_that_was_not_awaited_was_not_known() -> None:
    of = trial(REFUND)
    writes = position(REFUND, "issue_refund")
    turns = [of.calls[: writes + 1], *([later] for later in of.calls[writes + 1 :])]
    assert right_after_all(of, of.play(turns)) is None


def test_other_words_to_the_customer_are_the_same_act_and_none_is_another() -> None:
    calls, talk = trial(REFUND).calls, position(REFUND, "reply")
    other = replace(calls[talk], arguments={"message": "Done."})
    assert judged(REFUND, *replace_call(calls, talk, other)) == "same work"
    assert judged(REFUND, *replace_call(calls, talk)) is None


def test_another_row_another_sum_and_another_end_are_other_work() -> None:
    calls, pays = trial(REFUND).calls, position(REFUND, "issue_refund")
    less = replace(calls[pays], arguments={**calls[pays].arguments, "amount_cents": 1})
    assert judged(REFUND, *replace_call(calls, pays, less)) is None
    assert judged(REFUND, *calls[:-1], call("give_up", reason="no")) is None
    assert judged(REFUND, *calls[:-1]) is None
    assert judged(REFUND, *calls[:-1], call("finish", answer={"x": 1})) is None


def test_a_write_more_is_other_work_even_where_it_is_taken_back() -> None:
    calls = trial(REFUND).calls
    ticket = calls[position(REFUND, "resolve_ticket")].arguments["ticket_id"]
    twice = insert_calls(calls, len(calls) - 1, call("reopen_ticket", ticket_id=ticket), calls[-2])
    assert judged(REFUND, *twice) is None


def test_acts_of_one_tool_may_change_places_and_acts_of_two_may_not() -> None:
    calls, first = trial(CREDITS).calls, position(CREDITS, "give_credit")
    assert calls[first + 1].tool == "give_credit"
    assert judged(CREDITS, *move_call(calls, first + 1, first)) == "same work"
    talks = position(CREDITS, "reply")
    assert judged(CREDITS, *move_call(calls, talks, first)) is None


def test_what_a_guessed_id_shows_teaches_nothing() -> None:
    calls = trial(REFUND).calls
    guessed = next(i for i, step in enumerate(trial(REFUND).steps) if not set(step.event.named) <= given(REFUND))
    [first] = [i for i in range(guessed) if calls[i].tool == "get_order"]
    assert judged(REFUND, *replace_call(calls, first)) is None
    assert judged(REFUND, *move_call(calls, first, guessed)) is None


def given(task: str) -> frozenset[str]:
    """The words of the request and the briefing."""
    return trial(task).instance.given


def test_a_computed_answer_says_nothing_without_its_question() -> None:
    task = "storefront/fix-build/0000"
    checks = [i for i, c in enumerate(trial(task).calls) if c.tool == "check_compatibility"]
    assert checks
    assert judged(task, *replace_call(trial(task).calls, checks[-1])) is None


# Days that are waited, and what happens meanwhile

WAITING = "storefront/await-search/0000"


def days() -> int:
    waited = trial(WAITING).calls[position(WAITING, "wait_days")].arguments["days"]
    assert isinstance(waited, int)
    return waited


def test_days_may_be_waited_in_parts_but_not_more_nor_less_of_them() -> None:
    calls, place = trial(WAITING).calls, position(WAITING, "wait_days")
    parts = [call("wait_days", days=1)] * days()
    assert judged(WAITING, *replace_call(calls, place, *parts[:-1])) is None
    assert judged(WAITING, *insert_calls(calls, place, parts[0])) is None
    again = insert_calls(calls, len(calls) - 1, parts[0])
    assert judged(WAITING, *again) is None


def test_a_row_that_the_world_has_changed_is_known_once_it_was_shown_since() -> None:
    calls, place = trial(WAITING).calls, position(WAITING, "wait_days")
    [event] = trial(WAITING).instance.later
    moved = {change.after.order_id for change in event.changes if isinstance(change.after, Shipment)}
    looks = [n for n, made in enumerate(calls) if n > place and made.arguments.get("order_id") in moved]
    late = next(n for n in looks if calls[n].tool == "get_shipments")
    assert judged(WAITING, *replace_call(calls, late)) is None
    assert judged(WAITING, *move_call(calls, late, late + 1)) == "same work"


def test_the_worlds_own_writes_are_no_calls() -> None:
    outcome = trial(WAITING).outcome
    assert len(outcome.events) == len(trial(WAITING).calls)
    assert any(event.tool == WORLD for turn in outcome.turns for event in turn.events)
    assert outcome.waited == days()


def test_a_row_of_which_a_page_shows_two_columns_since_is_not_known() -> None:
    """A customer's page names the orders; what the world has changed in one of them is read on its own page."""
    waiting = "storefront/await-answer/5000"
    on_pages = gym.make("palaestra/Storefront-v0", surface="pages").unwrapped
    assert isinstance(on_pages, ToolEnv)
    there = Trial(on_pages, waiting)
    calls = there.calls
    act = next(n for n, made in enumerate(calls) if made.tool == "authorise_return")
    wait = next(n for n, made in enumerate(calls) if made.tool == "wait_days")
    look = next(n for n in range(wait, act) if calls[n].tool == "get_order")
    turns = [(made,) for made in calls]
    assert right_after_all(there, there.vary(turns)) == "same work"
    together = [*turns[:look], *turns[look + 1 : act], (calls[look], calls[act]), *turns[act + 1 :]]
    assert right_after_all(there, there.vary(together)) is None


def test_what_a_field_was_filled_with_is_nothing_that_its_form_has_told() -> None:
    """Any of three orders that have left is a ground to decline; another of them in the field is right as well."""
    declining = "storefront/redirect-orders-twin/7000"
    on_pages = gym.make("palaestra/Storefront-v0", surface="pages").unwrapped
    assert isinstance(on_pages, ToolEnv)
    there = Trial(on_pages, declining)
    act = next(n for n, made in enumerate(there.calls) if made.tool == "decline_request")
    other = ToolCall(tool="decline_request", arguments={**there.calls[act].arguments, "evidence_id": "ORD-1428"})
    turns = [(made,) for made in there.calls]
    assert right_after_all(there, there.vary([*turns[:act], (other,), *turns[act + 1 :]])) == "listed"
    assert right_after_all(there, there.vary([*turns[:act], *turns[act + 1 :]])) is None


# The same words about other rows


def test_the_words_of_another_row_are_no_knowledge_of_the_row(tmp_path: Path) -> None:
    """All tools have the same words but for their ids; only the tool of the loan decides."""
    whole = blueprint()
    tool, request = whole.entities["tool"], whole.requests["extend-loan"]
    alike = {
        "title": replace(tool.fields["title"], one_of=("Drill",)),
        "daily_fee": replace(tool.fields["daily_fee"], between=(500, 500)),
        "state": replace(tool.fields["state"], weights=(1, 0)),
    }
    worn = replace(
        request.refusals[-1],
        when='loan.tool.state == "worn"',
        shows="loan.tool",
        plant=(Plant(set="loan.tool.state", to="worn"),),
    )
    changed = replace(
        whole,
        id="alike-library",
        entities={**whole.entities, "tool": replace(tool, fields=alike)},
        requests={**whole.requests, "extend-loan": replace(request, refusals=(worn,))},
    )
    path = tmp_path / "alike_library.yaml"
    path.write_text(dump_blueprint(changed), "utf-8")
    env = gym.make(register_world(path)).unwrapped
    assert isinstance(env, ToolEnv)
    there = Trial(env, "alike-library/extend-loan/0000")
    place = next(n for n, made in enumerate(there.calls) if made.tool == "get_tool")
    asker = there.calls[1].arguments["member_id"]
    listing = ToolCall(tool="get_loans", arguments={"member_id": asker})
    asked = there.calls[place].arguments["tool_id"]
    other = min(key for key in there.probe([listing])[0] if key.startswith("TL-") and key != asked)
    looks = [listing, ToolCall(tool="get_tool", arguments={"tool_id": other})]

    def judge(calls: Sequence[ToolCall]) -> Rule | None:
        return right_after_all(there, there.play([[made] for made in calls]))

    assert judge(insert_calls(there.calls, place, *looks)) == "same work"
    assert judge(replace_call(there.calls, place, *looks)) is None
