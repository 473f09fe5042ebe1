"""Sections that decide are read before the work: who has not read them does not pass."""

import pytest

from palaestra.envs import ToolEnv
from palaestra.proof.trial import Trial

READS = [
    ("recall-twin", "REC-1", 5000),
    ("redirect-orders", "SHP-2", 5000),
    ("duplicate-tickets", "SHP-2", 5000),
    ("talk-right-sender", "SHP-2", 7000),
]


@pytest.mark.parametrize(("family", "section", "first"), READS)
def test_the_section_that_decides_is_read_first(family: str, section: str, first: int) -> None:
    for index in range(first, first + 2):
        played = Trial(ToolEnv("storefront"), f"storefront/{family}/{index:04d}")
        unread = [call for call in played.calls if call.arguments.get("section_id") != section]
        assert len(unread) == len(played.calls) - 1
        assert not played.vary([(call,) for call in unread]).passed


@pytest.mark.parametrize("family", ["lost-parcel", "lost-and-left", "await-search"])
def test_whoever_pays_a_lost_parcel_back_has_read_what_they_may_pay(family: str) -> None:
    paid = set[bool]()
    for index in range(6):
        played = Trial(ToolEnv("storefront"), f"storefront/{family}/{index:04d}")
        pays = any(call.tool == "refund_payment" for call in played.calls)
        limit = [call for call in played.calls if call.arguments.get("section_id") == "REF-2"]
        assert len(limit) == pays
        if pays:
            unread = [call for call in played.calls if call not in limit]
            assert not played.vary([(call,) for call in unread]).passed
        paid.add(pays)
    assert paid == {True, False}
