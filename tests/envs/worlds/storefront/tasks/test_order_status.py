"""Where is my parcel? The words fit the order's age, and the answer is the work."""

from datetime import date

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.tasks.order_status import say_age
from palaestra.proof.trial import Trial
from palaestra.records import Json
from palaestra.rubrics.rubric import UNFINISHED


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


@pytest.mark.parametrize("index", [0, 1, 5000, 7000])
@pytest.mark.parametrize("family", ["order-status", "net-paid"])
@pytest.mark.parametrize("answer", [{"tracking": "2026-27"}, {}])
def test_a_closed_ticket_with_a_wrong_answer_pays_no_more_than_unfinished_work(
    index: int, family: str, answer: dict[str, Json]
) -> None:
    """A trained policy closed the ticket and answered anything, since that paid more than half."""
    played = Trial(ToolEnv("storefront"), f"storefront/{family}/{index:04d}")
    outcome = played.vary([*((call,) for call in played.calls[:-1]), (call("finish", answer=answer),)])
    assert (outcome.passed, outcome.score.points) == (False, UNFINISHED)
