"""Advances on open claims, and surveyors who look at the damage."""

from datetime import timedelta

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.amounts import Calculations
from palaestra.envs.worlds.insurer.assessment import Assessment, check_cover, follow, view_claim, view_payments
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.planting import plant_payment
from palaestra.envs.worlds.insurer.schema import Claim, ClaimPayment, Policyholder, Reserve, Survey, Surveyor
from palaestra.rubrics import expect_read, expect_row


@family("insurer/pay-advance", level=2, traits=("write", "arithmetic"), twin=True)
def pay_first_advance(desk: InsurerDraft) -> Task:
    """An advance up to the share of the reserve that is free; in the twin an earlier advance has used a part of it."""
    claim = desk.pick_claim("fire", "water", "burglary")
    [reserve] = desk.state.find(Reserve, claim_id=claim.id)
    share = desk.planting_rules.advance_percent
    half = min(reserve.amount_cents * share // 100 // 2, 140_000)
    wanted = (half - 100 * desk.stream.between(1, 40)) // 100 * 100
    earlier = wanted - 100 * desk.stream.between(5, 60)
    matter, prompt = desk.open_matter(
        "pay-advance",
        desk.holder(claim),
        subject="An advance",
        bodies=(
            "I have to buy the most urgent things at once. Please pay me an advance of {sum} on claim {claim}.",
            "Could you advance me {sum} on claim {claim}? The rest can wait.",
        ),
        sum=amount(wanted),
        claim=claim.id,
    )
    if desk.twin:
        reserve = desk.state.update(reserve, amount_cents=(wanted + earlier - 1) * 100 // share)
    plant_payment(desk, claim, "advance", earlier, claim.loss_day + timedelta(days=4))
    a = desk.assess(matter, desk.holder(claim))
    follow(a, claim, view_claim, check_cover)
    if a.is_open:
        _check_advance(a, claim, reserve, wanted)
    values = {"claim_id": claim.id, "kind": "advance", "amount_cents": wanted, "status": "paid"}
    pay = ClaimAction(
        call=call("pay_advance", claim_id=claim.id, amount_cents=wanted),
        expected=expect_row(ClaimPayment, values, id="paid"),
    )
    return decide(desk, a, prompt, [pay], message=f"We have paid you an advance of {amount(wanted)}.", states=wanted)


def _check_advance(a: Assessment, claim: Claim, reserve: Reserve, wanted: int) -> None:
    """Whether all advances stay within their share of the reserve (ADV-1)."""
    a.look(call("get_reserves", claim_id=claim.id), expect_read(reserve, fields=["amount_cents"], id="saw-reserve"))
    earlier = [p.amount_cents for p in view_payments(a, claim) if p.kind == "advance" and p.status == "paid"]
    a.read("ADV-1")
    work = Calculations()
    most = work.percent(reserve.amount_cents, a.rules.advance_percent)
    together = work.add([*earlier, wanted])
    a.calls += work.calls
    if together > most:
        a.refuse("ADV-1", reserve, "saw-reserve", "saw-payments")
        return
    a.read("AUT-1")


@family("insurer/send-surveyor", level=3, traits=("write", "multi-hop"), twin=True)
def send_surveyor(desk: InsurerDraft) -> Task:
    """The surveyor of the town and field with the fewest surveys; in the twin the loss is a euro below the amount."""
    claim = desk.pick_claim("fire", "water", "collision")
    holder, contract = desk.holder(claim), desk.contract(claim)
    counts = desk.stream.sample(range(1, 9), 3)
    matter, prompt = desk.open_matter(
        "send-surveyor",
        holder,
        subject="Somebody should look at it",
        bodies=(
            "The damage of claim {claim} is worse than I thought. Please send somebody to look at it.",
            "Please send a surveyor for claim {claim}.",
        ),
        claim=claim.id,
    )
    estimate = desk.planting_rules.survey_from_cents - (100 if desk.twin else 0)
    claim = desk.state.update(claim, estimate_cents=estimate)
    field = "motor" if contract.product == "motor" else "property"
    local = _local_surveyors(desk, holder, field, counts)
    a = desk.assess(matter, holder)
    follow(a, claim, view_claim)
    if a.is_open:
        a.read("SUR-1")
        if claim.estimate_cents < a.rules.survey_from_cents:
            a.refuse("SUR-1", claim, "saw-claim")
    best = min((s for s in local if not s.on_leave), key=lambda s: s.open_surveys)
    if a.is_open:
        shown = call("get_contract", contract_id=contract.id)
        a.look(shown, expect_read(contract, fields=["product"], id="saw-contract"))
        fields = ["open_surveys", "on_leave"]
        listed = call("search_surveyors", field=field, city=holder.city)
        a.look(listed, expect_read(*local, fields=fields, id="saw-surveyors"))
    values = {"claim_id": claim.id, "surveyor_id": best.id, "status": "ordered"}
    order = ClaimAction(
        call=call("order_survey", claim_id=claim.id, surveyor_id=best.id),
        expected=expect_row(Survey, values, id="ordered"),
        allow=(permit_change(best, "open_surveys"),),
    )
    return decide(desk, a, prompt, [order], message=f"{best.name} will come and look at the damage.")


def _local_surveyors(desk: InsurerDraft, holder: Policyholder, field: str, counts: list[int]) -> list[Surveyor]:
    """Three surveyors of a field and town: the one with the fewest surveys of all is on leave."""
    found = [s for s in desk.state.find(Surveyor) if s.field == field]
    local = [s for s in found if s.city == holder.city]
    local += [s for s in found if s not in local][: max(0, 3 - len(local))]
    chosen = [
        desk.state.update(s, city=holder.city, open_surveys=count, on_leave=count == min(counts))
        for s, count in zip(local[:3], counts, strict=True)
    ]
    return sorted([*chosen, *local[3:]], key=lambda s: s.id)
