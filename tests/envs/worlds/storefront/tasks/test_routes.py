"""Right work by other routes than the solution's: a list that shows what decides, a reminder, and what to name."""

import re
from collections.abc import Sequence

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.kit import Section
from palaestra.envs.worlds.storefront.letters.surroundings import COLLEAGUES, CUSTOMERS
from palaestra.envs.worlds.storefront.schema import OrderLine, Product, Refund, Return
from palaestra.proof.trial import Trial, TrialOutcome
from palaestra.records import Json, ToolCall


def trial(family: str, index: int) -> Trial:
    return Trial(ToolEnv("storefront"), f"storefront/{family}/{index:04d}")


def run(played: Trial, calls: Sequence[ToolCall]) -> TrialOutcome:
    return played.vary([(one,) for one in calls])


def call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def reply(played: Trial, message: str) -> list[ToolCall]:
    """The solution with another reply."""
    return [call("reply", message=message) if one.tool == "reply" else one for one in played.calls]


def told(played: Trial) -> str:
    return next(str(one.arguments["message"]) for one in played.calls if one.tool == "reply")


@pytest.mark.parametrize("index", [5000, 5001])
def test_a_list_of_orders_shows_which_of_them_have_left(index: int) -> None:
    played = trial("redirect-orders", index)
    listed = [one for one in played.calls if one.tool != "get_order"]
    assert len(listed) < len(played.calls)
    assert run(played, listed).passed
    unseen = [one for one in listed if one.arguments.get("status") != "shipped"]
    assert not run(played, unseen).passed


def test_the_order_that_could_not_be_redirected_is_named() -> None:
    played = trial("redirect-orders", 5000)
    gone = re.findall(r"ORD-\d+", told(played))[-1]
    assert run(played, reply(played, f"Done, but for {gone}, which has left already.")).passed
    assert (
        run(played, reply(played, f"Done, but for order {gone[4:]}, which has left already."))
        .score.verdicts["told"]
        .met
    )
    silent = run(played, reply(played, "Your open orders go to the new address."))
    assert not silent.passed
    assert gone in silent.score.verdicts["told"].reason


def test_a_recall_is_answered_with_orders_and_amounts() -> None:
    played = trial("recall", 5000)
    amounts, orders = re.findall(r"EUR [\d.]+\d", told(played)), re.findall(r"ORD-\d+", told(played))
    assert run(played, reply(played, f"{' and '.join(orders)} were given {', '.join(amounts)}, in this order.")).passed
    assert not run(played, reply(played, f"We have given {', '.join(amounts)} of store credit.")).passed
    assert not run(played, reply(played, f"We have given store credit for {', '.join(orders)}.")).passed
    rule = played.instance.initial_state.get(Section, "REC-1")
    assert "which orders were given credit, and how much" in rule.body


@pytest.mark.parametrize("index", [5000, 5001])
def test_whoever_is_to_approve_a_refund_may_be_reminded(index: int) -> None:
    played = trial("absent-approver-twin", index)
    key = next(str(one.arguments["evidence_id"]) for one in played.calls if one.tool == "decline_request")
    approver = str(played.instance.initial_state.get(Refund, key).approver_id)
    end = next(n for n, one in enumerate(played.calls) if one.tool == "decline_request")
    note = call("send_internal_message", recipient_id=approver, body="Please decide on the refund that waits for you.")
    assert run(played, [*played.calls[:end], note, *played.calls[end:]]).passed


@pytest.mark.parametrize(
    ("family", "index"),
    [("change-address", 5000), ("cancel-order", 5000), ("talk-which-order", 7000), ("talk-new-address", 7000)],
)
def test_an_order_is_changed_or_cancelled_once_the_section_about_it_was_read(family: str, index: int) -> None:
    played = trial(family, index)
    unread = [one for one in played.calls if one.arguments.get("section_id") != "SHP-2"]
    assert len(unread) == len(played.calls) - 1
    assert not run(played, unread).passed


def test_no_aside_of_a_request_asks_for_anything() -> None:
    for aside in (*CUSTOMERS.asides, *COLLEAGUES.asides):
        assert "please" not in aside.casefold(), aside
        assert not re.match(r"(also, )?(do|pass|thank|tell|send|keep|let)\b", aside.casefold()), aside


def test_no_return_of_a_clearance_piece_was_authorised_for_a_change_of_mind() -> None:
    env, returns = ToolEnv("storefront"), 0
    for split in ("dev", "heldout"):
        for task in env.task_set.candidates(split):
            if task.startswith("storefront/partial-refund-twin/"):
                instance = env.task_set.instance(task)
                rows = instance.initial_state
                [closed] = [one for one in instance.oracle if "evidence_id" in one.arguments]
                back = rows.peek(Return, str(closed.arguments["evidence_id"]))
                if back is not None:
                    assert not rows.get(Product, rows.get(OrderLine, back.line_id).product_id).final_sale, task
                    returns += 1
    assert returns >= 3
