"""What a question asks for by its form."""

import pytest

from palaestra.envs.user.asked_topics import topics_by_form
from palaestra.envs.user.topics import lexicon_of
from palaestra.envs.worlds.storefront.topics import TOPICS


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("how many of the cracked bowls do you want to return", "quantity"),
        ("i need the number of broken lamps", "quantity"),
        ("is it one kettle or two", "quantity"),
        ("what would you like to send back", "product"),
        ("which of the chairs needs a repair", "product"),
        ("does the drone lift off", "fault"),
        ("walk me through what the machine does", "fault"),
        ("where do we send the new one", "address"),
    ],
)
def test_the_form_of_a_question_outweighs_the_things_that_it_names_by_the_way(text: str, topic: str) -> None:
    assert topics_by_form(text, lexicon_of(TOPICS).spots(text), kind="ask") == [topic]


@pytest.mark.parametrize(
    "text", ["what is the number of the order", "which of the two orders is it", "which lamp is broken", "why"]
)
def test_a_question_of_no_such_form_is_left_to_what_it_names(text: str) -> None:
    assert topics_by_form(text, lexicon_of(TOPICS).spots(text), kind="ask") == []
