"""New losses that are registered as claims, once their day was told."""

from datetime import date, timedelta

from palaestra.envs.kit import amount, draw_temper, with_user
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.insurer.amounts import Calculations
from palaestra.envs.worlds.insurer.assessment import Assessment, open_matter
from palaestra.envs.worlds.insurer.desk import ClaimAction, InsurerDraft, decide
from palaestra.envs.worlds.insurer.dialogues import answer_about
from palaestra.envs.worlds.insurer.schema import Claim, Contract, Cover, Peril, Policyholder, Reserve
from palaestra.records import Json
from palaestra.rubrics import expect_question, expect_read, expect_row

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
    return with_user(_register(desk, a, prompt, cover, day, estimate), user)


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
