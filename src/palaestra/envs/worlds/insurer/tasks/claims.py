"""New claims, advances, surveys, repairs and withdrawals."""

from dataclasses import replace
from datetime import date, timedelta

from palaestra.envs.kit import amount, draw_temper, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.amounts import Calculations
from palaestra.envs.worlds.insurer.assessment import (
    Assessment,
    check_cover,
    follow,
    latest,
    open_matter,
    view_claim,
    view_payments,
)
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.dialogues import answer_about
from palaestra.envs.worlds.insurer.planting import plant_payment
from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimDocument,
    ClaimPayment,
    Contract,
    Cover,
    Garage,
    Peril,
    Policyholder,
    RepairRelease,
    Reserve,
    Survey,
    Surveyor,
)
from palaestra.records import Json
from palaestra.rubrics import expect_change, expect_question, expect_read, expect_row


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


@family("insurer/talk-release-repair", level=3, traits=("dialogue", "write", "arithmetic"), twin=True)
def talk_release_repair(desk: InsurerDraft) -> Task:
    """The estimate is the most that the car's value allows, and only the policyholder chooses the garage."""
    claim = desk.pick_claim("collision")
    garage = desk.pick(Garage)
    temper = draw_temper(desk.stream)
    matter, prompt = desk.open_matter(
        "release-repair",
        desk.holder(claim),
        subject="The repair",
        bodies=(
            "The estimate for claim {claim} is with you. Please let the garage of my choice begin the repair.",
            "Please release the repair for claim {claim}, so that my garage can begin.",
        ),
        claim=claim.id,
    )
    contract = desk.contract(claim)
    value = contract.value_cents // 10_000 * 10_000
    contract = desk.state.update(contract, value_cents=value)
    cents = value * desk.planting_rules.total_loss_percent // 100 + (100 if desk.twin else 0)
    estimate = desk.state.insert(
        ClaimDocument(
            id=desk.state.next_id(ClaimDocument),
            claim_id=claim.id,
            kind="estimate",
            status="received",
            dated=claim.loss_day + timedelta(days=4),
            reference=None,
            amount_cents=cents,
        )
    )
    question, user = answer_about(
        "garage",
        "Which garage should repair the car?",
        says=f"I would like {garage.name} to do it.",
        goal="You want the repair of your car to begin.",
        temper=temper,
        owed=not desk.twin,
    )
    a = desk.assess(matter, desk.holder(claim))
    follow(a, claim, view_claim, check_cover)
    if a.is_open:
        _check_repair(a, contract, estimate)
    if a.is_open:
        a.look(question, expect_question("garage"))
        found = call("search_garages", query=garage.name)
        a.look(found, expect_read(garage, fields=["name"], id="saw-garage"))
    values = {"claim_id": claim.id, "garage_id": garage.id, "amount_cents": cents}
    release = ClaimAction(
        call=call("release_repair", claim_id=claim.id, garage_id=garage.id, amount_cents=cents),
        expected=expect_row(RepairRelease, values, id="released"),
    )
    task = decide(desk, a, prompt, [release], message=f"{garage.name} may begin; the repair may cost {amount(cents)}.")
    return replace(task, user=user)


def _check_repair(a: Assessment, contract: Contract, estimate: ClaimDocument) -> None:
    """Whether a repair is worth it for the value of the car (RPR-1)."""
    a.look(call("get_documents", claim_id=estimate.claim_id), expect_read(estimate, id="saw-estimate"))
    fact = expect_read(contract, fields=["value_cents"], id="saw-contract")
    a.look(call("get_contract", contract_id=contract.id), fact)
    a.read("RPR-1")
    work = Calculations()
    most = work.percent(contract.value_cents, a.rules.total_loss_percent)
    a.calls += work.calls
    if (estimate.amount_cents or 0) > most:
        a.refuse("RPR-1", estimate, "saw-estimate", "saw-contract")


@family("insurer/talk-withdraw", level=2, traits=("dialogue", "write"), twin=True)
def talk_withdraw(desk: InsurerDraft) -> Task:
    """One of two open claims is withdrawn, and only the policyholder knows which; in the twin money was paid on it."""
    claim = desk.pick_claim("fire", "water", "burglary", "theft", "glass")
    holder, temper = desk.holder(claim), draw_temper(desk.stream)
    cents = 100 * desk.stream.between(90, 300)
    matter, prompt = desk.open_matter(
        "withdraw",
        holder,
        subject="I withdraw my claim",
        bodies=(
            "My claim has taken care of itself. Please close it; I withdraw it.",
            "I would like to withdraw one of my claims. You need not do anything more about it.",
        ),
    )
    advance = plant_payment(desk, claim, "advance", cents, claim.loss_day + timedelta(days=5))
    if not desk.twin:
        desk.state.delete(advance)
    question, user = answer_about(
        "claim",
        "Which claim do you mean?",
        says=f"I mean {claim.id}.",
        goal="You want one of your claims withdrawn, and only that one.",
        temper=temper,
        owed=not desk.twin,
    )
    a = desk.assess(matter, holder)
    open_matter(a)
    if a.is_open:
        a.look(call("get_contracts", policyholder_id=holder.id))
        for contract in desk.state.find(Contract, policyholder_id=holder.id):
            a.look(call("get_claims", contract_id=contract.id))
        a.look(question, expect_question("claim"))
        view_claim(a, claim)
        payments = view_payments(a, claim)
        a.read("WDR-1")
        if payments:
            a.refuse("WDR-1", latest(payments), "saw-claim", "saw-payments")
    withdraw = ClaimAction(
        call=call("withdraw_claim", claim_id=claim.id),
        expected=expect_change(claim, {"status": "withdrawn"}, id="withdrawn"),
    )
    task = decide(desk, a, prompt, [withdraw], message=f"Claim {claim.id} is withdrawn and closed.")
    return replace(task, user=user)


_LOSSES: dict[Peril, str] = {
    "collision": "another car has run into mine",
    "theft": "somebody has stolen my car",
    "glass": "a stone has broken my windscreen",
}


@family("insurer/talk-register-loss", level=3, traits=("dialogue", "write", "arithmetic"), twin=True)
def talk_register_loss(desk: InsurerDraft) -> Task:
    """Only the policyholder knows the day of a loss, the last one of its cover; in the twin the cover had ended."""
    contract = desk.pick(Contract, lambda c: c.product == "motor")
    holder = desk.state.get(Policyholder, contract.policyholder_id)
    peril = desk.stream.choice(tuple(_LOSSES))
    ago = desk.stream.between(1, 2)
    estimate, temper = 1_000 * desk.stream.between(60, 240), draw_temper(desk.stream)
    day = desk.today - timedelta(days=ago)
    matter, prompt = desk.open_matter(
        "register-loss",
        holder,
        subject="A new loss",
        bodies=(
            "I have to report a loss under contract {contract}: {what}. It comes to about {sum}.",
            "Something has happened: {what}. The contract is {contract}, and I think it comes to {sum}.",
        ),
        contract=contract.id,
        what=_LOSSES[peril],
        sum=amount(estimate),
    )
    [cover] = desk.state.find(Cover, contract_id=contract.id, peril=peril)
    cover = desk.state.update(cover, ended=day - timedelta(days=1 if desk.twin else 0))
    question, user = answer_about(
        "day",
        "On which day did it happen?",
        says=f"It happened on {day.isoformat()}.",
        goal="You want your loss registered.",
        temper=temper,
        owed=not desk.twin,
    )
    a = desk.assess(matter, holder)
    open_matter(a)
    if a.is_open:
        a.look(question, expect_question("day"))
        a.look(call("get_covers", contract_id=contract.id), expect_read(cover, id="saw-cover"))
        a.read("COV-1")
        if cover.ended is not None and cover.ended < day:
            a.refuse("COV-1", cover, "asked-day", "saw-cover")
    if a.is_open:
        a.read("RPT-1")
        limit = a.rules.theft_days if peril == "theft" else a.rules.report_days
        assert ago <= limit, "the latest day that is drawn is in time under every handbook"
    return replace(_register(desk, a, prompt, cover, day, estimate), user=user)


def _register(desk: InsurerDraft, a: Assessment, prompt: str, cover: Cover, day: date, cents: int) -> Task:
    """Register the loss with its reserve (RES-1), or refuse."""
    work, key = Calculations(), desk.state.next_id(Claim)
    reserve = 0
    if a.is_open:
        a.read("RES-1")
        reserve = work.add([cents, work.percent(cents, a.rules.reserve_percent)])
        a.calls += work.calls
    known: dict[str, Json] = {"contract_id": cover.contract_id, "peril": cover.peril, "estimate_cents": cents}
    actions = [
        ClaimAction(
            call=call("register_claim", **known, loss_day=day.isoformat()),
            expected=expect_row(Claim, {**known, "loss_day": day, "status": "open"}, id="registered"),
        ),
        ClaimAction(
            call=call("set_reserve", claim_id=key, amount_cents=reserve),
            expected=expect_row(Reserve, {"claim_id": key, "amount_cents": reserve}, id="reserved"),
        ),
    ]
    return decide(desk, a, prompt, actions, message=f"Your loss is registered as claim {key}.")
