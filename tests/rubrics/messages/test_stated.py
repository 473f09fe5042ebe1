"""Amounts that a message must state: any usual format will do, another amount will not."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs import ToolEnv
from palaestra.proof.trial import Trial
from palaestra.records import ToolCall
from palaestra.rubrics.messages import amounts_in, describe_amounts, expect_stated_amount

FORMATS = (
    "EUR 12.30",
    "12,30 EUR",
    "12,30 \u20ac",
    "\u20ac12.30",
    "\u20ac 12.3",
    "12.3 euros",
    "12.30 Euro",
    "12 euros and 30 cents",
    "12 euros 30 cents",
    "1230 cents",
    "**12.30**",
)


@pytest.mark.parametrize("written", FORMATS)
def test_usual_formats_state_the_amount(written: str) -> None:
    assert 1_230 in amounts_in(f"We have paid {written} back. Have a nice day!")


@pytest.mark.parametrize("written", ["EUR 1.23", "EUR 123", "1230", "12 pieces", "ORD-1230", "12:30", "2026-12-30"])
def test_other_figures_do_not_state_it(written: str) -> None:
    assert 1_230 not in amounts_in(f"It is {written} now.")


@given(st.integers(min_value=0, max_value=10**7))
def test_euros_and_cents_are_one_amount(cents: int) -> None:
    euros, rest = divmod(cents, 100)
    assert amounts_in(f"You get {euros} euros and {rest} cents.") == {cents}


def states_amount(text: str, task: str = "storefront/partial-refund/0000") -> bool:
    """Whether a task's oracle meets its criterion about the reply when it writes this instead."""
    played = Trial(ToolEnv("storefront"), task)
    calls = [
        ToolCall(tool=c.tool, arguments={**c.arguments, "message": text}) if c.tool == "reply" else c
        for c in played.calls
    ]
    return played.vary([(call,) for call in calls]).score.verdicts["told"].met


def test_a_reply_must_state_what_was_paid() -> None:
    played = Trial(ToolEnv("storefront"), "storefront/partial-refund/0000")
    [cents] = [c.arguments["amount_cents"] for c in played.calls if c.tool == "issue_refund"]
    assert isinstance(cents, int)
    euros, rest = divmod(cents, 100)
    assert states_amount(f"Good news: {euros},{rest:02} \u20ac are on their way.")
    assert states_amount(f"{euros} euros and {rest} cents are yours again.")
    assert not states_amount("Good news: the money is on its way.")
    assert not states_amount(f"Good news: EUR {euros + 1}.{rest:02} are on their way.")


def test_any_of_several_amounts_will_do_and_the_criterion_names_them() -> None:
    criterion = expect_stated_amount("reply", frozenset({200, 100}), id="told")
    assert criterion.text == "Stated 100 cents or 200 cents in a message."
    assert criterion.tools == frozenset({"reply"})


def told_by(task: str, *amounts: int, names: Sequence[str] = ()) -> bool:
    """Whether a task's oracle meets its criterion about the reply when it states just these amounts and ids."""
    stated = "; ".join(f"EUR {cents // 100}.{cents % 100:02}" for cents in amounts) or "It is arranged."
    return states_amount(" ".join((*names, stated)), task)


@pytest.mark.parametrize(
    ("family", "argument"),
    [("await-returns", "amount_cents"), ("late-parcels", "amount_cents"), ("recall", "amount_cents")],
)
def test_a_reply_states_every_amount_that_was_given_or_their_sum(family: str, argument: str) -> None:
    task = f"storefront/{family}/0000"
    calls = Trial(ToolEnv("storefront"), task).calls
    given = [c.arguments[argument] for c in calls if argument in c.arguments and c.tool != "percent"]
    cents = [value for value in given if isinstance(value, int)]
    orders = [str(c.arguments["order_id"]) for c in calls if argument in c.arguments and "order_id" in c.arguments]
    assert len(cents) >= 2
    assert told_by(task, *cents, names=orders)
    assert told_by(task, sum(cents), names=orders)
    assert not told_by(task, names=orders)
    assert told_by(task, cents[0], names=orders) == (len(set(cents)) == 1)


@pytest.mark.parametrize("family", ["return-opened-item", "bundle-return", "await-answer"])
def test_a_reply_states_the_fee_that_is_kept(family: str) -> None:
    seen = 0
    for index in range(6):
        task = f"storefront/{family}/{index:04d}"
        calls = Trial(ToolEnv("storefront"), task).calls
        fees = [c.arguments["fee_cents"] for c in calls if c.tool == "authorise_return"]
        fee = max(value for value in fees if isinstance(value, int))
        seen += fee > 0
        assert told_by(task, fee) or fee == 0
        assert told_by(task) == (fee == 0)
    assert seen >= 2


def test_of_a_tuple_all_amounts_or_their_sum_are_stated() -> None:
    assert describe_amounts((200, 100), str) == "100 and 200 or 300"
    assert describe_amounts(frozenset({200, 100}), str) == "100 or 200"
    assert describe_amounts((100, 100), str) == "100 or 200"
    assert describe_amounts(100, str) == "100"
