"""Sections that decide are read before the work: who has not read them does not pass."""

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.schema import Shipment
from palaestra.proof.trial import Trial
from palaestra.records import ToolCall

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


def test_a_faulty_piece_with_an_open_claim_may_be_declined_as_too_late_by_whoever_has_read_so() -> None:
    seen = 0
    for index in range(6):
        played = Trial(ToolEnv("storefront"), f"storefront/warranty-claim-twin/{index:04d}")
        [closed] = [n for n, call in enumerate(played.calls) if call.tool in {"decline_request", "escalate_ticket"}]
        if played.calls[closed].arguments["policy_id"] != "WAR-2":
            continue
        seen += 1
        order = next(str(call.arguments["order_id"]) for call in played.calls if call.tool == "get_order")
        [parcel] = played.instance.initial_state.find(Shipment, order_id=order)
        late = {**played.calls[closed].arguments, "policy_id": "RET-1", "evidence_id": parcel.id}
        calls = [*played.calls[:closed], ToolCall(tool="get_shipments", arguments={"order_id": order})]
        calls += [ToolCall(tool="decline_request", arguments=late), *played.calls[closed + 1 :]]
        assert played.vary([(call,) for call in calls]).passed
        unread = [call for call in calls if call.arguments.get("section_id") != "RET-1"]
        assert len(unread) < len(calls)
        assert not played.vary([(call,) for call in unread]).passed
    assert seen >= 2
