"""The corpus of wordings holds to its own rules. What a recogniser makes of it is measured elsewhere."""

import re
from collections import Counter

import pytest

from corpus.wording_labels import FOLDER, HALVES, ActLabel, Half, Wording, read_wordings
from palaestra.envs.user.acts import KINDS
from palaestra.envs.worlds.storefront.topics import TOPICS

LEAST_OF_A_HALF: dict[Half, int] = {"dev": 320, "heldout": 230}
LEAST_OF_A_KIND: dict[Half, int] = {"dev": 60, "heldout": 13}
"""Wordings in which a kind of act occurs, and wordings of two or more sentences, in each half."""
LEAST_OF_A_TRAP: dict[Half, int] = {"dev": 20, "heldout": 7}
"""Hostile wordings, and half as many of each answer to a fee."""
ID: dict[Half, str] = {"dev": r"(?:dev|heldout|fresh|more)-\d{3}", "heldout": r"blind-\d{3}"}
"""Lines for development that were held out once keep their ids."""
MOST_ALIKE = 0.5
"""Jaccard index on word 3-grams that a held-out wording must stay below with every wording for development."""


def word_grams(text: str) -> frozenset[tuple[str, ...]]:
    """The word 3-grams of a text after masking ids and numbers; all its words where it has fewer than three."""
    masked = re.sub(r"\b[A-Z]{2,4}-\d+\b|\d+(?:[.,]\d+)*", " # ", text)
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*|#", masked.casefold())
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])


def likeness(left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]) -> float:
    """The Jaccard index of two sets of 3-grams."""
    return len(left & right) / len(left | right)


def count_sentences(text: str) -> int:
    parts = re.split(r"(?<=[.!?])\s+|\n+", text.strip())
    return sum(re.search(r"\w{2}", part) is not None for part in parts)


def kinds_in(wording: Wording) -> set[str]:
    return {label.kind for label in wording.acts}


@pytest.mark.parametrize("half", HALVES)
def test_each_half_is_large_and_has_each_kind_of_act_often_enough(half: Half) -> None:
    wordings = read_wordings(half)
    assert len(wordings) >= LEAST_OF_A_HALF[half]
    counts = Counter(kind for wording in wordings for kind in kinds_in(wording))
    assert {kind for kind in KINDS if counts[kind] < LEAST_OF_A_KIND[half]} == set()
    assert sum(count_sentences(wording.text) >= 2 for wording in wordings) >= LEAST_OF_A_KIND[half]


@pytest.mark.parametrize("half", HALVES)
def test_each_half_has_consent_denied_fees_small_talk_and_hostile_texts(half: Half) -> None:
    wordings = read_wordings(half)
    consents = Counter(wording.consent for wording in wordings)
    assert min(consents[answer] for answer in ("yes", "open", "no")) >= LEAST_OF_A_TRAP[half] // 2
    assert sum(wording.consent == "no" and "inform" in kinds_in(wording) for wording in wordings) >= 10
    assert sum(not wording.acts for wording in wordings) >= 15
    assert sum(wording.hostile for wording in wordings) >= LEAST_OF_A_TRAP[half]


def test_ids_and_texts_occur_once_and_ids_name_their_half() -> None:
    wordings: list[tuple[Half, Wording]] = [(half, wording) for half in HALVES for wording in read_wordings(half)]
    for field in ("id", "text"):
        counts = Counter(getattr(wording, field) for _, wording in wordings)
        assert [value for value, number in counts.items() if number > 1] == []
    assert [wording.id for half, wording in wordings if not re.fullmatch(ID[half], wording.id)] == []


def test_no_held_out_wording_is_a_variant_of_one_for_development() -> None:
    known = [(wording.id, word_grams(wording.text)) for wording in read_wordings("dev")]
    alike = [
        (wording.id, id)
        for wording in (read_wordings("heldout") if "heldout" in HALVES else ())
        for id, grams in known
        if likeness(word_grams(wording.text), grams) >= MOST_ALIKE
    ]
    assert alike == []


def test_likeness_finds_a_template_filled_twice() -> None:
    first, second = (f"ORD-{n} is cancelled; EUR {n}.50 is on its way." for n in (1042, 7))
    assert likeness(word_grams(first), word_grams(second)) == 1.0
    assert likeness(word_grams(first), word_grams("Which of your orders do you have in mind?")) == 0.0
    assert likeness(word_grams("Thanks!"), word_grams("thanks")) == 1.0


@pytest.mark.parametrize("half", HALVES)
def test_acts_and_topics_are_known_and_no_act_is_labelled_twice(half: Half) -> None:
    for wording in read_wordings(half):
        assert wording.world == "storefront", wording.id
        assert wording.text == wording.text.strip() != "", wording.id
        for label in (*wording.acts, *wording.may):
            assert label.kind in KINDS, wording.id
            assert {*label.topics} <= {*TOPICS, ""}, wording.id
            assert len({*label.topics}) == len(label.topics), wording.id
        labels = (*wording.acts, *wording.may)
        assert len({*labels}) == len(labels), wording.id


@pytest.mark.parametrize("half", HALVES)
def test_consent_goes_only_with_a_stated_fee(half: Half) -> None:
    for wording in read_wordings(half):
        about_fee = any("fee" in label.topics for label in wording.acts)
        assert wording.consent == "no" or about_fee or wording.hostile, wording.id
        stated = re.search(r"\d", wording.text) or re.search(r"\b(?:euros?|quid|tenner|per ?cent)\b", wording.text)
        assert wording.consent != "yes" or stated, wording.id


def test_a_reading_agrees_with_any_equal_topic_and_needs_every_act() -> None:
    fee = ActLabel(kind="inform", topics=("fee",))
    agree = ActLabel(kind="offer", topics=("fee", "return", ""))
    wording = Wording(id="x", world="storefront", text="x", acts=(fee, agree), may=(ActLabel(kind="close", topics=()),))
    for heard in (("inform:fee", "offer:fee"), ("offer", "inform:fee"), ("inform:fee", "offer:return", "close")):
        assert wording.is_read_right(heard)
    assert wording.missing_acts(("inform:fee",)) == (agree,)
    assert wording.wrong_acts(("inform:fee", "offer:repair", "ask:fee")) == ("offer:repair", "ask:fee")
    assert not wording.is_read_right(("offer:fee",))


def test_each_wording_is_read_right_by_its_own_labels() -> None:
    for half in HALVES:
        for wording in read_wordings(half):
            own = tuple(
                f"{label.kind}:{topic}".rstrip(":") for label in wording.acts for topic in label.topics or ("",)
            )
            assert wording.is_read_right(own), wording.id


def test_the_folder_holds_the_two_halves_and_how_they_were_made() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert {"README.md", "dev.jsonl"} <= names <= {"README.md", "dev.jsonl", "heldout.jsonl"}
