"""Where is my parcel? The customer says how long ago they ordered as the order's age has it."""

from datetime import date

import pytest

from palaestra.envs.worlds.storefront.tasks.order_status import say_age


@pytest.mark.parametrize(
    ("placed", "said"),
    [
        (date(2026, 6, 3), "today"),
        (date(2026, 6, 2), "yesterday"),
        (date(2026, 6, 1), "two days ago"),
        (date(2026, 5, 31), "a few days ago"),
        (date(2026, 5, 28), "a few days ago"),
        (date(2026, 5, 27), "a week ago or so"),
        (date(2026, 5, 23), "a while ago"),
    ],
)
def test_the_words_fit_the_age(placed: date, said: str) -> None:
    assert say_age((date(2026, 6, 3) - placed).days) == said
