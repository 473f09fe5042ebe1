"""The Insurer's tools: what each writes, and every way in which one says no."""

import pytest

from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimDocument,
    ClaimPayment,
    Contract,
    Cover,
    Garage,
    Invoice,
    Premium,
    Recovery,
    RepairRelease,
    Reserve,
    Survey,
    Surveyor,
)
from palaestra.records import Json
from worlds.claims_department import ClaimsDepartment


@pytest.fixture
def desk() -> ClaimsDepartment:
    return ClaimsDepartment()


def open_claim(desk: ClaimsDepartment, peril: str = "collision") -> Claim:
    return desk.pick(Claim, lambda c: c.status == "open" and c.peril == peril)


def settled_claim(desk: ClaimsDepartment) -> Claim:
    return desk.pick(Claim, lambda c: c.status == "settled")


def unpaid_premium(desk: ClaimsDepartment, claim: Claim) -> Premium:
    return desk.pick(Premium, lambda p: p.contract_id == claim.contract_id and p.paid_on is None)


# Money


def test_an_invoice_is_paid_at_once_or_waits_for_the_approver(desk: ClaimsDepartment) -> None:
    invoice = desk.pick(Invoice, lambda i: desk.state.get(Claim, i.claim_id).status == "open")
    [paid] = desk.write("pay_invoice", invoice_id=invoice.id, amount_cents=100)
    [waits] = desk.write("pay_invoice", invoice_id=invoice.id, amount_cents=200, approver_id="ADJ-103")
    assert isinstance(paid, ClaimPayment)
    assert isinstance(waits, ClaimPayment)
    assert (paid.claim_id, paid.invoice_number, paid.status) == (invoice.claim_id, invoice.number, "paid")
    assert (waits.status, waits.approver_id, waits.amount_cents) == ("pending", "ADJ-103", 200)


def test_no_more_than_an_invoice_comes_to_is_paid(desk: ClaimsDepartment) -> None:
    invoice = desk.pick(Invoice)
    assert desk.refusal("pay_invoice", invoice_id=invoice.id, amount_cents=invoice.total_cents + 1) == "too_much"


def test_compensation_settles_the_claim_and_an_advance_does_not(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk, "fire")
    [advance] = desk.write("pay_advance", claim_id=claim.id, amount_cents=500)
    assert isinstance(advance, ClaimPayment)
    assert (advance.kind, desk.state.get(Claim, claim.id).status) == ("advance", "open")
    payment, settled = desk.write("pay_compensation", claim_id=claim.id, amount_cents=700)
    assert isinstance(payment, ClaimPayment)
    assert isinstance(settled, Claim)
    assert (payment.kind, settled.status) == ("compensation", "settled")


@pytest.mark.parametrize("tool", ["pay_advance", "pay_compensation"])
def test_nothing_is_paid_on_a_withdrawn_claim(desk: ClaimsDepartment, tool: str) -> None:
    claim = open_claim(desk, "fire")
    desk.write("withdraw_claim", claim_id=claim.id)
    assert desk.refusal(tool, claim_id=claim.id, amount_cents=1) == "withdrawn"


def test_an_unknown_approver_is_refused(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk, "fire")
    answer = desk.refusal("pay_compensation", claim_id=claim.id, amount_cents=1, approver_id="ADJ-999")
    assert answer == "not_found"


def test_a_deductible_goes_back_on_a_settled_claim_only(desk: ClaimsDepartment) -> None:
    assert desk.refusal("return_deductible", claim_id=open_claim(desk).id, amount_cents=1) == "wrong_status"
    [payment] = desk.write("return_deductible", claim_id=settled_claim(desk).id, amount_cents=100)
    assert isinstance(payment, ClaimPayment)
    assert payment.kind == "deductible"


def test_a_payment_is_reclaimed_once(desk: ClaimsDepartment) -> None:
    payment = desk.pick(ClaimPayment)
    [reclaimed] = desk.write("reclaim_payment", payment_id=payment.id)
    assert isinstance(reclaimed, ClaimPayment)
    assert reclaimed.status == "reclaimed"
    assert desk.refusal("reclaim_payment", payment_id=payment.id) == "wrong_status"


def test_a_premium_is_set_off_once_and_against_its_own_contract(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk, "fire")
    premium, other = unpaid_premium(desk, claim), open_claim(desk)
    assert desk.refusal("set_off_premium", premium_id=premium.id, claim_id=other.id) == "other_contract"
    [booked] = desk.write("set_off_premium", premium_id=premium.id, claim_id=claim.id)
    assert isinstance(booked, Premium)
    assert (booked.claim_id, booked.paid_on) == (claim.id, desk.clock.today)
    assert desk.refusal("set_off_premium", premium_id=premium.id, claim_id=claim.id) == "paid_already"


def test_a_claim_keeps_one_reserve(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk)
    desk.write("set_reserve", claim_id=claim.id, amount_cents=123)
    [reserve] = desk.state.find(Reserve, claim_id=claim.id)
    assert (reserve.amount_cents, reserve.set_on) == (123, desk.clock.today)


def test_a_recovery_begins_as_a_demand(desk: ClaimsDepartment) -> None:
    claim = settled_claim(desk)
    [demand] = desk.write("demand_recovery", claim_id=claim.id, other_insurer_id="OIN-2", amount_cents=900)
    assert isinstance(demand, Recovery)
    assert (demand.status, demand.demanded_cents, demand.received_cents) == ("demanded", 900, 0)


# Evidence and work


def loss(desk: ClaimsDepartment, **other: str) -> dict[str, Json]:
    contract = desk.pick(Contract, lambda c: c.product == "motor")
    day = desk.clock.today.isoformat()
    return {"contract_id": contract.id, "peril": "theft", "loss_day": day, "estimate_cents": 500, **other}


def test_a_loss_is_registered_as_an_open_claim_of_today(desk: ClaimsDepartment) -> None:
    [claim] = desk.write("register_claim", **loss(desk))
    assert isinstance(claim, Claim)
    assert (claim.status, claim.reported, claim.loss_day) == ("open", desk.clock.today, desk.clock.today)
    [reserve] = desk.write("set_reserve", claim_id=claim.id, amount_cents=575)
    assert isinstance(reserve, Reserve)
    assert reserve.claim_id == claim.id


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"loss_day": "2099-01-01"}, "bad_day"),
        ({"loss_day": "2026-02-30"}, "bad_day"),
        ({"peril": "burglary"}, "no_cover"),
        ({"contract_id": "CON-1"}, "not_found"),
    ],
)
def test_a_loss_that_cannot_be_is_not_registered(desk: ClaimsDepartment, wrong: dict[str, str], code: str) -> None:
    assert desk.refusal("register_claim", **loss(desk, **wrong)) == code


def test_a_document_is_requested_where_none_is_known(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk, "burglary")
    assert desk.refusal("request_document", claim_id=claim.id, kind="police_report") == "known"
    [asked] = desk.write("request_document", claim_id=claim.id, kind="estimate")
    assert isinstance(asked, ClaimDocument)
    assert (asked.status, asked.reference) == ("requested", None)


def test_a_document_that_is_told_is_received(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk, "fire")
    [told] = desk.write("record_document", claim_id=claim.id, kind="police_report", reference="PR-1")
    assert isinstance(told, ClaimDocument)
    assert (told.status, told.reference) == ("received", "PR-1")


def test_a_survey_counts_for_the_surveyor(desk: ClaimsDepartment) -> None:
    claim, surveyor = open_claim(desk), desk.pick(Surveyor)
    counted, survey = desk.write("order_survey", claim_id=claim.id, surveyor_id=surveyor.id)
    assert isinstance(counted, Surveyor)
    assert isinstance(survey, Survey)
    assert counted.open_surveys == surveyor.open_surveys + 1
    assert (survey.claim_id, survey.status) == (claim.id, "ordered")


def test_a_repair_is_released_on_an_open_claim_only(desk: ClaimsDepartment) -> None:
    garage = desk.pick(Garage)
    arguments: dict[str, Json] = {"garage_id": garage.id, "amount_cents": 400}
    assert desk.refusal("release_repair", claim_id=settled_claim(desk).id, **arguments) == "not_open"
    [release] = desk.write("release_repair", claim_id=open_claim(desk).id, **arguments)
    assert isinstance(release, RepairRelease)
    assert release.amount_cents == 400


def test_a_claim_is_withdrawn_once(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk)
    desk.write("withdraw_claim", claim_id=claim.id)
    assert desk.refusal("withdraw_claim", claim_id=claim.id) == "wrong_status"


# Reading


def test_lists_show_what_belongs_to_one_record(desk: ClaimsDepartment) -> None:
    claim = open_claim(desk)
    covers = desk.call("get_covers", contract_id=claim.contract_id)["covers"]
    assert {row["id"] for row in covers} == {row.id for row in desk.state.find(Cover, contract_id=claim.contract_id)}
    assert desk.refusal("get_covers", contract_id="CON-1") == "not_found"


def test_colleagues_are_listed_with_what_decides_who_approves(desk: ClaimsDepartment) -> None:
    listed = desk.call("search_adjusters", team="controlling")["results"]
    assert len(listed) == 4
    assert {"approval_limit_cents", "on_leave", "delegate_id", "related_to_id"} <= set(listed[0])


def test_surveyors_are_found_by_field_and_town(desk: ClaimsDepartment) -> None:
    one = desk.pick(Surveyor)
    found = desk.call("search_surveyors", field=one.field, city=one.city)["results"]
    assert one.id in {row["id"] for row in found}
    assert {(row["field"], row["city"]) for row in found} == {(one.field, one.city)}
