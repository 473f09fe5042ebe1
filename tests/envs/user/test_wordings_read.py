"""What is claimed of the recogniser on natural wordings: right where it answers, seldom lost, never a false consent."""

import pytest

from corpus.wording_labels import HALVES, Half, Wording, read_wordings
from palaestra.envs.user import Reading, read_message
from palaestra.envs.worlds.storefront.topics import TOPICS

RIGHT_OF_ANSWERED: dict[Half, float] = {"dev": 0.92, "heldout": 0.79}
"""On "dev", 1,914 of 2,067 are right. The rules were written on a part of these lines. The last held-out half, used up
since, was read right in 321 of 401 answers at the only look: 80.0 %."""
STATED_HEARD: dict[Half, float] = {"dev": 0.82, "heldout": 0.6}
"""On "dev", 105 of 126 are heard. A fee not heard costs a question; one heard wrongly would cost a false consent."""
UNCLEAR_AT_MOST = 0.10


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
    assert lost <= UNCLEAR_AT_MOST * len(readings), f"{lost} of {len(readings)}"


@pytest.mark.parametrize("half", HALVES)
def test_no_fee_counts_as_stated_that_nobody_may_agree_to(half: Half) -> None:
    wrong = [wording.id for wording, reading in read_half(half) if reading.fee == "stated" and wording.consent != "yes"]
    assert wrong == []


@pytest.mark.parametrize("half", HALVES)
def test_stated_fees_are_heard(half: Half) -> None:
    stated = [reading.fee for wording, reading in read_half(half) if wording.consent == "yes"]
    assert stated.count("stated") >= STATED_HEARD[half] * len(stated)
