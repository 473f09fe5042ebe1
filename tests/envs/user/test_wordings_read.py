"""What is claimed of the recogniser on natural wordings: right where it answers, seldom lost, never a false consent."""

import pytest

from corpus.wording_labels import HALVES, Half, Wording, read_wordings
from palaestra.envs.user import Reading, read_message
from palaestra.envs.worlds.storefront.topics import TOPICS

RIGHT_OF_ANSWERED: dict[Half, float] = {"dev": 0.92, "heldout": 0.63}
"""On "dev", 1,914 of 2,067 are right: the rules were written on a part of these lines. On "heldout", whose author had
seen nothing, 128 of 201. The aim is 0.97; docs/users.md says what is misheard."""
STATED_HEARD: dict[Half, float] = {"dev": 0.82, "heldout": 0.3}
"""On "dev", 105 of 126 are heard, on "heldout" 7 of 23. A fee not heard costs a question; one heard wrongly would cost
a false consent."""
UNCLEAR_AT_MOST: dict[Half, float] = {"dev": 0.10, "heldout": 0.15}


def read_half(half: Half) -> list[tuple[Wording, Reading]]:
    return [(wording, read_message(wording.text, TOPICS)) for wording in read_wordings(half)]


@pytest.mark.parametrize("half", HALVES)
def test_what_is_understood_is_read_right(half: Half) -> None:
    answered = [(wording, reading) for wording, reading in read_half(half) if reading.understood]
    right = sum(wording.is_read_right(reading.acts) for wording, reading in answered)
    assert right >= RIGHT_OF_ANSWERED[half] * len(answered), f"{right} of {len(answered)}"


@pytest.mark.parametrize("half", HALVES)
def test_few_wordings_are_not_understood(half: Half) -> None:
    readings = [reading for _, reading in read_half(half)]
    lost = sum(not reading.understood for reading in readings)
    assert lost <= UNCLEAR_AT_MOST[half] * len(readings), f"{lost} of {len(readings)}"


@pytest.mark.parametrize("half", HALVES)
def test_no_fee_counts_as_stated_that_nobody_may_agree_to(half: Half) -> None:
    wrong = [wording.id for wording, reading in read_half(half) if reading.fee == "stated" and wording.consent != "yes"]
    assert wrong == []


@pytest.mark.parametrize("half", HALVES)
def test_stated_fees_are_heard(half: Half) -> None:
    stated = [reading.fee for wording, reading in read_half(half) if wording.consent == "yes"]
    assert stated.count("stated") >= STATED_HEARD[half] * len(stated)
