"""What is claimed of fees: amounts are read as written, and nobody agrees to a fee that was not stated to them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.fee_texts import NEVER_STATED
from corpus.fee_texts import STATED as STATED_TEXTS
from corpus.wording_labels import read_wordings
from palaestra.envs.user import Conversation, Persona, Reaction, ScriptedUser, read_message, stated_amounts
from palaestra.envs.worlds.storefront.topics import TOPICS
from worlds.bench import EVENT

BUYER = Persona(
    goal="You want to send it back.",
    topics=TOPICS,
    reactions=(Reaction(to="inform:fee", says="Go ahead.", said="accept:fee", settles=True),),
    patience=50,
)
NEVER_TO_BE_AGREED = [wording.text for wording in read_wordings("dev") if wording.consent == "no"]
STATED = "A restocking fee of EUR 12.30 will be deducted."


def said(*messages: str, **stated: str) -> list[tuple[str, ...]]:
    """What the buyer says to each message, sent with these stated fields."""
    talk = Conversation(BUYER, ScriptedUser(BUYER), seed=0, is_id=lambda _: False)
    return [talk.answer(replace(EVENT, arguments={"message": text, **stated}))[0].said for text in messages]


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("EUR 40.66", (4066,)),
        ("40,66 \u20ac", (4066,)),
        ("\u20ac40.66", (4066,)),
        ("40.66 euros", (4066,)),
        ("4066 cents", (4066,)),
        ("1,240 cents", (1240,)),
        ("EUR 1,240.50 and 1.240,50 EUR", (124050, 124050)),
        ("EUR 20.", (2000,)),
        ("a fee of EUR 12.00, so 68 euro are yours", (1200, 6800)),
        ("15 % of the price of ORD-1042", ()),
        ("", ()),
    ],
)
def test_amounts_are_read_in_cents(text: str, cents: tuple[int, ...]) -> None:
    assert stated_amounts(text) == cents


@given(st.text(max_size=200))
def test_any_text_has_amounts_or_none(text: str) -> None:
    assert all(cents >= 0 for cents in stated_amounts(text))


@pytest.mark.parametrize(
    ("message", "fee"),
    [
        (STATED, "stated"),
        ("EUR 40.66 will be deducted. Would you like me to go ahead?", "stated"),
        ("There may be a fee.", "open"),
        ("There is no fee at all.", "denied"),
        ("There is no fee. Do you agree to the fee of EUR 12.00?", "denied"),
        ("Which order is it?", "unspoken"),
    ],
)
def test_a_fee_is_stated_with_its_amount_and_not_denied(message: str, fee: str) -> None:
    assert read_message(message, TOPICS).fee == fee


def test_a_stated_fee_may_be_agreed_to() -> None:
    assert said(STATED) == [("accept:fee",)]
    assert said("EUR 40.66 will be deducted. Would you like me to go ahead?") == [("accept:fee",)]
    assert said("There is no fee at all.", STATED)[1] == ("accept:fee",)


def test_whoever_hears_of_a_fee_without_its_amount_asks_for_it() -> None:
    assert said("A restocking fee is due.", "It is EUR 12.30.") == [("query:fee",), ("accept:fee",)]


@pytest.mark.parametrize("message", ["There is no fee at all.", "x", "All done.", "Do you agree?"])
def test_a_stated_act_does_not_state_a_fee(message: str) -> None:
    for act in ("inform", "offer"):
        assert "accept:fee" not in said(message, act=act, about="fee")[0]


@given(
    st.lists(st.sampled_from(NEVER_TO_BE_AGREED), min_size=1, max_size=4),
    st.sampled_from([{}, {"act": "inform", "about": "fee"}, {"act": "offer", "about": "fee"}, {"act": "ask"}]),
)
def test_no_talk_without_a_stated_fee_ends_in_agreement_to_one(messages: list[str], stated: dict[str, str]) -> None:
    assert all("accept:fee" not in answer for answer in said(*messages, **stated))


@given(st.lists(st.text(max_size=80), min_size=1, max_size=3))
def test_no_text_without_an_amount_or_a_share_is_agreed_to(messages: list[str]) -> None:
    if not any(char.isdigit() for message in messages for char in message):
        assert all("accept:fee" not in answer for answer in said(*messages, act="inform", about="fee"))


@pytest.mark.parametrize("text", NEVER_STATED)
def test_a_fee_that_is_past_denied_doubtful_or_somebody_elses_is_not_stated(text: str) -> None:
    assert read_message(text, TOPICS).fee != "stated"


@pytest.mark.parametrize("text", STATED_TEXTS)
def test_a_fee_to_come_with_its_amount_is_stated(text: str) -> None:
    assert read_message(text, TOPICS).fee == "stated"


@given(
    st.sampled_from(NEVER_STATED), st.sampled_from([wording for wording in NEVER_TO_BE_AGREED if "?" not in wording])
)
def test_harmless_neighbours_do_not_state_a_fee(text: str, neighbour: str) -> None:
    assert read_message(f"{neighbour} {text}", TOPICS).fee != "stated"
