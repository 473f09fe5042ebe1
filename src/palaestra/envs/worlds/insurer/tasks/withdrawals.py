"""Claims that policyholders withdraw: which one they mean, and whose it is."""

from datetime import timedelta

from palaestra.envs.kit import draw_temper, with_user
from palaestra.envs.task import Task, call, family
from palaestra.envs.user import Persona
from palaestra.envs.worlds.insurer.assessment import Assessment, latest, open_matter, view_claim, view_payments
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.dialogues import answer_about
from palaestra.envs.worlds.insurer.planting import plant_payment
from palaestra.envs.worlds.insurer.schema import Claim, Contract, Peril
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change, expect_question, expect_read

_PERILS: tuple[Peril, ...] = ("fire", "water", "burglary", "theft", "glass")
"""The perils of open claims on which nothing was paid so far."""


def _plant_advance(desk: InsurerDraft, claim: Claim, cents: int) -> None:
    """In the twin, an advance was paid on the claim."""
    if desk.twin:
        plant_payment(desk, claim, "advance", cents, claim.loss_day + timedelta(days=5))


def _withdraw(desk: InsurerDraft, a: Assessment, prompt: str, claim: Claim, user: Persona) -> Task:
    """Withdraw the claim, or refuse since something was paid on it (WDR-1)."""
    if a.is_open:
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
    return with_user(task, user)


@family("insurer/talk-withdraw", level=2, traits=("dialogue", "write"), twin=True)
def talk_withdraw(desk: InsurerDraft) -> Task:
    """One of two open claims is withdrawn, and only the policyholder knows which; in the twin money was paid on it."""
    claim = desk.pick_claim(*_PERILS)
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
    _plant_advance(desk, claim, cents)
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
    return _withdraw(desk, a, prompt, claim, user)


@family("insurer/talk-wrong-claim", level=3, traits=("dialogue", "write", "multi-hop"), twin=True)
def talk_wrong_claim(desk: InsurerDraft) -> Task:
    """The named claim is somebody else's, as its contract shows; in the twin money was paid on the right one."""
    claim = desk.pick_claim(*_PERILS)
    holder, temper = desk.holder(claim), draw_temper(desk.stream)
    wrong = desk.pick_claim(*_PERILS, where=lambda c: desk.holder(c).id != holder.id)
    cents = 100 * desk.stream.between(90, 300)
    matter, prompt = desk.open_matter(
        "withdraw-named",
        holder,
        subject="I withdraw my claim",
        bodies=(
            "Please withdraw my claim {claim}. The matter has taken care of itself.",
            "I no longer pursue {claim}. Please close it as withdrawn.",
        ),
        claim=wrong.id,
    )
    _plant_advance(desk, claim, cents)
    question, user = answer_about(
        "claim",
        f"{wrong.id} is under no contract of yours. Could you please check the claim number?",
        says=f"I mean {claim.id}; I had the wrong number.",
        mistaken=f"It is {wrong.id}.",
        goal="You want your own claim withdrawn.",
        temper=temper,
        owed=not desk.twin,
    )
    a = desk.assess(matter, holder)
    open_matter(a)
    if a.is_open:
        _find_owner(a, wrong, question)
    return _withdraw(desk, a, prompt, claim, user)


def _find_owner(a: Assessment, wrong: Claim, question: ToolCall) -> None:
    """Look whose claim was named, and ask which one is meant."""
    contract = a.contract(wrong)
    a.look(call("get_claim", claim_id=wrong.id))
    shown = call("get_contract", contract_id=contract.id)
    a.look(shown, expect_read(contract, fields=["policyholder_id"], id="saw-owner"))
    a.look(question, expect_question("claim"))
