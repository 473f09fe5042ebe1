"""Letters: whatever parts and styles are drawn, every fact stands in them to the letter, and nothing else is asked."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs.kit import LetterKind, Surroundings, Voice
from palaestra.envs.kit.letters import compose_body, compose_subject, slots_of
from palaestra.seeding import Stream

ENGLISH = Voice(greetings=("Hello,",), histories=("Colourful parcels came past.",), closings=("Goodbye",))
GERMAN = Voice(language="de", greetings=("Hallo,",), histories=("Es regnet.",), closings=("Danke",))
AROUND = Surroundings(subjects=("One", "Two"), voices=((ENGLISH, 1), (GERMAN, 1)), asides=("Never mind the music.",))


def kind(**changes: object) -> LetterKind:
    stated: dict[str, object] = {
        "topic": "cancel",
        "around": AROUND,
        "facts": frozenset({"order", "name"}),
        "wishes": ("Kindly withdraw {order} of {name}.", "{name} would like {order} withdrawn."),
        "reasons": ("Everything changed yesterday evening.",),
        "summaries": ("Withdraw, that is everything.",),
        "foreign_wishes": {"de": "Bitte stornieren: {order} of {name}."},
        "foreign_reasons": {"de": "Alles hat sich geändert."},
    }
    return LetterKind(**{**stated, **changes})  # type: ignore[arg-type]


FACTS = {"order": "ORD-1042", "name": 'Klack K65 "mechanical" keyboard, red switches (EUR 1.299)'}


def letter(seed: int, **facts: str | tuple[str, ...]) -> str:
    return compose_body(kind(), {**FACTS, **facts}, Stream.root("test", seed))


@given(seed=st.integers(0, 10**6))
def test_every_fact_stands_in_every_letter_as_it_was_given(seed: int) -> None:
    text = letter(seed)
    assert all(fact in text for fact in FACTS.values())
    assert not re.search(r"[\ue000-\uf8ff{}]", text)


@given(
    seed=st.integers(0, 10**6), name=st.text(min_size=1).filter(lambda text: not re.search(r"[\ue000-\uf8ff]", text))
)
def test_facts_of_any_letters_survive_every_style(seed: int, name: str) -> None:
    assert name in letter(seed, name=name)


def test_one_of_several_texts_of_a_fact_is_said() -> None:
    ways = ("stays dead", "shows no sign of life")
    said = [letter(seed, name=ways) for seed in range(40)]
    assert all(sum(way in text for way in ways) == 1 for text in said)
    assert all(any(way in text for text in said) for way in ways)


def test_letters_repeat_for_a_stream_and_differ_between_streams() -> None:
    assert letter(3) == letter(3)
    assert len({letter(seed) for seed in range(60)}) > 40


def test_styles_are_american_lower_case_and_hasty() -> None:
    texts = [letter(seed) for seed in range(300)]
    assert {"packages", "parcels"} <= {word for text in texts for word in text.split()}
    assert {text[0].isupper() for text in texts if text[0].isalpha()} == {True, False}
    known = {word for text in (*kind().wishes, *kind().reasons, *kind().summaries) for word in text.lower().split()}
    assert any(word not in known for text in texts for word in re.findall(r"\bwith[a-z]+", text.lower()))


def test_a_foreign_sentence_comes_from_a_voice_of_that_language() -> None:
    texts = [letter(seed).lower() for seed in range(200)]
    german = [text for text in texts if "stornieren" in text or "geändert" in text]
    assert german
    # The greeting may have a slip, such as "hlalo"; an English one has an "e".
    assert all(set(text.partition("\n")[0].partition(",")[0].split()[0]) <= set("halo") for text in german)


def test_subjects_come_from_the_surroundings_whatever_the_kind() -> None:
    assert {compose_subject(kind(), Stream.root(seed)) for seed in range(30)} == {"One", "Two"}


def test_a_subject_is_of_the_language_of_the_greeting() -> None:
    german = replace(GERMAN, subjects=("Frage",))
    english = Voice(greetings=("Greetings,",), histories=("Nothing new.",), closings=("Goodbye",))
    around = Surroundings(subjects=("One",), voices=((english, 1), (german, 1)), asides=("Never mind.",))
    for seed in range(60):
        asked, stream = kind(around=around), Stream.root(seed)
        subject = compose_subject(asked, stream)
        voice = around.draw_voice(stream)
        assert subject == ("Frage" if voice.language == "de" else "One")
        assert compose_body(asked, FACTS, stream)[0].lower() == voice.greetings[0][0].lower()


@pytest.mark.parametrize(
    "changes",
    [
        {"wishes": ("Withdraw {order}.",)},
        {"wishes": ("Withdraw {order} of {name} in {city}.",)},
        {"reasons": ("Because of {order}.",)},
        {"summaries": ("Withdraw {order}.",)},
        {"foreign_wishes": {"de": "Bitte {order} stornieren."}},
        {"foreign_reasons": {"de": "Wegen {name}."}},
    ],
)
def test_a_part_with_wrong_facts_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"names \[.*\]; name \[.*\], each in braces"):
        kind(**changes)


def test_facts_that_the_kind_does_not_state_are_refused() -> None:
    with pytest.raises(ValueError, match=r"this kind of request states \['name', 'order'\]"):
        compose_body(kind(), {"order": "ORD-1"}, Stream.root("test"))


def test_slots_are_the_names_in_braces() -> None:
    assert slots_of("{a} and {b}, {a}") == {"a", "b"}
    assert slots_of("none") == frozenset()
