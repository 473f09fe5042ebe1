"""What is claimed of the recogniser: it never fails, form does not matter, and people would mostly agree with it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.act_texts import ROUNDS
from palaestra.envs.user import courtesies, proposals, read_message, recognise_acts, refusals, requests
from palaestra.envs.user.acts import KINDS, kind_of, topic_of
from palaestra.envs.user.phrasing import Phrases
from palaestra.envs.worlds.storefront.topics import TOPICS
from worlds.messages import MESSAGES

SENTENCES = [message for message, _ in MESSAGES]
# Letters whose two cases are not one to one (the German sharp s, dotted i) are not English.
ASCII = st.text(st.characters(min_codepoint=9, max_codepoint=126))


def deeds(acts: frozenset[str] | tuple[str, ...]) -> frozenset[str]:
    """The acts that ask for something: telling things by the way does no harm."""
    return frozenset(act for act in acts if kind_of(act) != "inform")


def right(message: str, wanted: frozenset[str]) -> bool:
    acts = recognise_acts(message, TOPICS)
    if deeds(acts) != deeds(wanted):
        return False
    return bool(deeds(wanted)) or not wanted.isdisjoint(acts)


def test_every_set_of_phrases_is_a_pattern() -> None:
    """Each is compiled when it is first looked for."""
    modules = (courtesies, proposals, refusals, requests)
    sets = [value for module in modules for value in vars(module).values() if isinstance(value, Phrases)]
    assert len(sets) >= 11
    assert all(phrases.pattern.pattern for phrases in sets)


def test_people_agree_with_at_least_95_percent_of_the_readings() -> None:
    wrong = [message for message, wanted in MESSAGES if not right(message, wanted)]
    assert len(MESSAGES) >= 60
    assert len(wrong) <= 0.05 * len(MESSAGES), wrong


def reads(label: str, message: str) -> bool:
    """Whether a message is understood to do what it is labelled with, and nothing else but to tell."""
    wanted = [{f"{kind}:{topic}".rstrip(":-") for topic in topics.split("/")} for kind, _, topics in acts_of(label)]
    reading = read_message(message, TOPICS)
    heard = {*reading.acts}
    extra = {act for act in heard if kind_of(act) != "inform"} - set[str]().union(*wanted)
    return reading.understood and all(same & heard for same in wanted) and not extra


def acts_of(label: str) -> list[tuple[str, str, str]]:
    return [act.partition(":") for act in label.split()]


def test_texts_written_against_the_rules_are_read_right() -> None:
    wrong = [message for label, message in ROUNDS if not reads(label, message)]
    assert len(ROUNDS) >= 450
    assert wrong == []


@pytest.mark.parametrize(
    "message",
    ["", "   ", "\n\t", "?", "?!?!", "...", "order", "Order product.", "order product address fee refund replacement"],
)
def test_nothing_is_understood_where_nothing_is_said(message: str) -> None:
    assert recognise_acts(message, TOPICS) == ()


def test_keywords_strung_together_are_no_question() -> None:
    every = [words[0] for words in TOPICS.values()]
    for joint in (" ", ", ", "? ", " and ", "\n", ". "):
        assert recognise_acts(joint.join(every) + "?", TOPICS) == ()


def test_a_pointing_question_is_about_what_was_spoken_of_before() -> None:
    assert "ask:order" in recognise_acts("You have two orders with us. Which one is it?", TOPICS)
    assert recognise_acts("Which one is it?", TOPICS) == ("ask",)


@given(st.text(max_size=400))
def test_any_text_is_read(message: str) -> None:
    for act in recognise_acts(message, TOPICS):
        assert kind_of(act) in KINDS
        assert topic_of(act) in ("", *TOPICS)


@given(st.lists(st.sampled_from(SENTENCES), max_size=4).map(" ".join) | ASCII)
def test_case_does_not_matter(message: str) -> None:
    assert (
        recognise_acts(message.upper(), TOPICS)
        == recognise_acts(message.lower(), TOPICS)
        == recognise_acts(message, TOPICS)
    )


@given(st.sampled_from(SENTENCES), st.sampled_from([" ", "  ", "\t", " \t  "]))
def test_white_space_does_not_matter(message: str, space: str) -> None:
    spread = space + re.sub(r" ", space, message) + space
    assert recognise_acts(spread, TOPICS) == recognise_acts(message, TOPICS)


@given(st.sampled_from(SENTENCES), st.integers(2, 4))
def test_doubled_marks_and_typographic_quotes_do_not_matter(message: str, times: int) -> None:
    loud = re.sub(r"[.!?]+(?=\s|$)", lambda found: found.group() * times, message).replace("'", "\u2019")
    assert recognise_acts(loud, TOPICS) == recognise_acts(message, TOPICS)


ODD_PARTS = (
    "not ",
    "no fee ",
    "eur 12 ",
    "if you ",
    "would you ",
    "please tell ",
    "of the ",
    ", ",
    ": ",
    "which ",
    "a" * 50 + " ",
)


@given(st.lists(st.sampled_from(ODD_PARTS), min_size=1, max_size=4), st.integers(1, 400))
@settings(max_examples=40, deadline=None)
def test_long_odd_messages_are_read_to_their_end(parts: list[str], times: int) -> None:
    # A pattern with catastrophic backtracking would hang here.
    reading = read_message("".join(parts) * times, TOPICS)
    assert reading.fee in ("unspoken", "open", "stated", "denied")


def test_a_long_message_is_read_in_time() -> None:
    # Nested repetition in a pattern would make this take years; no clock is needed to see that it ends.
    for text in ("hi, " * 5_000, "can not " * 5_000, "would a " + "b " * 5_000, "please " * 5_000, "a" * 20_000):
        assert isinstance(recognise_acts(text, TOPICS), tuple)
