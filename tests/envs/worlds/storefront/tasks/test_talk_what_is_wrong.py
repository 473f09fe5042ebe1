"""Broken after the return window: the remedy follows from the records, so it needs no consent."""

import pytest

from palaestra.envs import ToolEnv
from palaestra.proof.trial import Trial


@pytest.mark.parametrize("index", [0, 1, 5000, 7000])
def test_a_claim_may_be_opened_without_a_word_before(index: int) -> None:
    played = Trial(ToolEnv("storefront"), f"storefront/talk-what-is-wrong/{index:04d}")
    calls = [call for call in played.calls if call.arguments.get("act") != "inform"]
    assert len(calls) == len(played.calls) - 1
    outcome = played.vary([(call,) for call in calls])
    assert (outcome.passed, outcome.score.points) == (True, 100)
