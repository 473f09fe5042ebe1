"""Requests in other words: what must not change does not, whatever the rest becomes."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs.wording import WORDINGS, reword
from palaestra.envs.wording.typos import typos
from palaestra.errors import UnknownNameError
from palaestra.seeding import Stream

REQUEST = (
    "Ticket TCK-7, from ada@inbox.example: Please help\n\n"
    "I would like to return the Klack K65 mechanical keyboard, red switches from ORD-1042. Please send 2 of them to "
    'Mill Lane 7 in Graz; Anna said "do not wait". It is broken, and I have written before.\n\n'
    "(Finish with `net_cents`. I do not want more.)"
)
NAMES = ("Klack K65 mechanical keyboard, red switches", "Mill Lane 7", "Graz", "Anna", "Nobody In It")
ADDED = re.compile(r"\w*\d\w*|[A-Z]+-\d+")


def told(wording: str, text: str = REQUEST, seed: int = 0) -> str:
    return reword(text, wording, names=NAMES, stream=Stream.root("test", seed))


@pytest.mark.parametrize("wording", WORDINGS)
def test_the_request_reads_otherwise_and_the_same_every_time(wording: str) -> None:
    assert told(wording) != REQUEST
    assert told(wording) == told(wording)
    assert len({told(wording, seed=seed) for seed in range(10)}) > 1


@pytest.mark.parametrize("wording", WORDINGS)
def test_envelope_terms_names_and_quotations_stay_as_they_are(wording: str) -> None:
    for seed in range(20):
        text = told(wording, seed=seed)
        assert text.startswith("Ticket TCK-7, from ada@inbox.example: Please help\n\n")
        assert text.endswith("\n\n(Finish with `net_cents`. I do not want more.)")
        for fact in (*NAMES[:4], "ORD-1042", '"do not wait"', "2"):
            assert text.count(fact) == REQUEST.count(fact), fact


def test_each_wording_is_what_it_is_called() -> None:
    assert "I should like to return" in told("formal")
    assert "I would kindly ask you to send" in told("formal")
    assert "i'd like to return" in told("casual")
    assert "it's broken, and i've written" in told("casual")
    body = REQUEST.split("\n\n")[1]
    assert body in told("verbose")
    assert len(told("verbose")) > len(REQUEST) + 200
    assert len(told("typos").split()) == len(REQUEST.split())


@pytest.mark.parametrize("wording", WORDINGS)
def test_what_is_added_names_nothing(wording: str) -> None:
    for seed in range(100):
        text = told(wording, "Subject line\n\nIt is not here yet", seed)
        assert not ADDED.findall(text)
        assert not {"order", "refund", "return", "cancel", "address", "parcel", "money"} & {*text.lower().split()}


def test_a_request_without_an_envelope_is_all_prose() -> None:
    assert told("casual", "I would like to cancel ORD-1.").partition(" i'd")[2].startswith(" like to cancel ORD-1")


def test_a_request_of_terms_alone_is_left_alone() -> None:
    assert told("garbled", "Line\n\n(Finish with `x`.)") == "Line\n\n(Finish with `x`.)"


def test_an_unknown_wording_is_told_the_near_one() -> None:
    with pytest.raises(UnknownNameError, match="unknown wording 'casuall'; did you mean 'casual'"):
        told("casuall")


@given(
    words=st.lists(
        st.one_of(
            st.sampled_from(["please", "Please", "I", "would", "like", "do", "not", "return", "it", "is", "broken."]),
            st.from_regex(r"[A-Z]{3}-[0-9]{4}", fullmatch=True),
            st.from_regex(r"[0-9]{1,4}(\.[0-9]{2})?", fullmatch=True),
            st.from_regex(r"[a-z]{2,6}\.[a-z]{2,6}@[a-z]{2,6}\.example", fullmatch=True),
            st.from_regex(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", fullmatch=True),
        ),
        min_size=1,
        max_size=30,
    ),
    wording=st.sampled_from(sorted(WORDINGS)),
    seed=st.integers(min_value=0, max_value=1000),
)
def test_ids_numbers_days_and_addresses_are_the_same_ones_in_the_same_order(
    words: list[str], wording: str, seed: int
) -> None:
    facts = re.compile(r"\S+@\S+\w|[\w-]*\d[\w-]*")
    text = reword(f"Line 1\n\n{' '.join(words)}", wording, names=(), stream=Stream.root("property", seed))
    assert facts.findall(text) == facts.findall(f"Line 1 {' '.join(words)}")


def test_a_slip_spares_short_words_capitals_and_first_letters() -> None:
    said = "All of it is not here, and Both Payments cannot arrive before Saturday morning because nothing started."
    for seed in range(50):
        [text] = typos([said], Stream.root("slip", seed))
        for plain, typed in zip(said.split(), text.split(), strict=True):
            if len(plain.strip(".,")) < 5 or plain[0].isupper():
                assert plain == typed
            assert plain[0] == typed[0]


def test_at_least_one_word_is_hit_where_there_is_one() -> None:
    assert all(typos(["It is broken"], Stream.root("one", seed)) != ["It is broken"] for seed in range(30))
    assert typos(["It is so"], Stream.root("none", 0)) == ["It is so"]


def test_about_a_quarter_of_long_words_is_hit() -> None:
    text = " ".join(["understanding"] * 2_000)
    [typed] = typos([text], Stream.root("rate", 0))
    assert 420 < Counter(typed.split()).total() - typed.split().count("understanding") < 580
