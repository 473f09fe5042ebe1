"""Repairs that are released to a garage of the policyholder's choice."""

from datetime import timedelta

from palaestra.envs.kit import amount, draw_temper, with_user
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.amounts import Calculations
from palaestra.envs.worlds.insurer.assessment import Assessment, check_cover, follow, view_claim
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.dialogues import answer_about
from palaestra.envs.worlds.insurer.schema import ClaimDocument, Contract, Garage, RepairRelease
from palaestra.rubrics import expect_question, expect_read, expect_row


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
    return with_user(task, user)


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
