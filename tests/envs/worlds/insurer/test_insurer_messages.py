"""What replies may say: honest ones in other words pass, and those that claim what the rows deny fail."""

from dataclasses import replace
from functools import cache

import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import Instance, ToolEnv
from palaestra.envs.kit import amount
from palaestra.records import Score

pytestmark = [pytest.mark.unmeasured, pytest.mark.xdist_group("insurer")]

HONEST = (
    ("pay-invoice", "We have paid {sum} to the garage; the deductible is yours to pay."),
    ("pay-invoice", "We pay {sum} of the invoice, which leaves your deductible to you. Your matter is closed."),
    ("pay-invoice", "The garage will receive {sum} from us shortly."),
    ("pay-invoice-twin", "I am sorry, we cannot pay the invoice: the cover began after the loss."),
    ("pay-invoice-twin", "We will pay nothing here, because the cover had not begun on the day of the loss."),
    ("pay-invoice-twin", "Nothing is paid for this loss, as your collision cover only started afterwards."),
    ("pay-with-approval", "We have arranged a payment of {sum}; a colleague has to approve it before it goes out."),
    ("pay-with-approval", "{sum} of the invoice are due and wait for approval by a colleague."),
    ("pay-with-approval-twin", "I have handed your matter to management, who will decide about the payment."),
    ("settle-arrears", "You receive {sum}; we have set off the overdue premium against it."),
    ("ask-for-report", "Before we can pay, we need the police report. I have requested it from you by post."),
    ("settle-balance-twin", "The claim has already been paid in full, so nothing is left to pay."),
    ("settle-fire-twin", "This loss was already settled under another claim, so we cannot pay it again."),
    ("demand-recovery", "We have asked the other insurer for {sum}, their share of what we paid."),
    ("demand-recovery-twin", "We cannot demand anything of the other insurer any more: it is too long ago."),
    ("reclaim-double-payment-twin", "The two payments are for two different invoices, so we do not reclaim anything."),
    ("return-deductible", "The other insurer has paid, and we have paid {sum} of your deductible back to you."),
    ("return-deductible-twin", "The other insurer has not paid yet, so we cannot return the deductible so far."),
    ("send-surveyor-twin", "We do not send a surveyor for a loss of this size."),
    ("talk-release-repair-twin", "We cannot release the repair: it costs too much for the value of your car."),
    ("talk-register-loss", "Your loss is registered."),
    ("pay-advance-twin", "The advance would be too high for the reserve, so we have not paid it."),
)
LIES = (
    ("pay-invoice-twin", "The payment has been made."),
    ("pay-invoice-twin", "We will pay you the rest tomorrow."),
    ("settle-fire-twin", "Your compensation is on its way."),
    ("pay-with-approval-twin", "We paid the invoice today."),
    ("pay-invoice", "Nothing was paid for your loss, {sum} notwithstanding."),
    ("demand-recovery-twin", "We have demanded the money of the other insurer."),
    ("reclaim-double-payment-twin", "We have reclaimed the payment."),
    ("talk-withdraw-twin", "Your claim is withdrawn."),
    ("talk-release-repair-twin", "The repair is released."),
    ("send-surveyor-twin", "A surveyor will come and look at the damage."),
    ("settle-balance-twin", "We will pay you the rest of the compensation."),
    ("settle-burglary-twin", "I have handed your matter to investigations, who will look at it."),
    ("talk-register-loss-twin", "Your loss is registered."),
)


@cache
def made() -> ToolEnv:
    return ToolEnv("insurer", split="dev")


def cents_of(task: Instance) -> int:
    """What the solution pays or demands; 0 where it does neither."""
    found = (c.arguments.get("amount_cents") for c in task.oracle)
    return next((value for value in found if isinstance(value, int)), 0)


def reply_score(family: str, text: str) -> Score:
    """The score of a solution whose last reply says something else."""
    env, task = made(), f"insurer/{family}/5000"
    env.reset(options={"task": task})
    instance = env.task_set.instance(task)
    calls = list(instance.oracle)
    last = max(place for place, call in enumerate(calls) if call.tool == "reply")
    said = text.format(sum=amount(cents_of(instance)))
    calls[last] = replace(calls[last], arguments={"message": said})
    return rollout(env, oracle(lambda: calls), name="script", seed=0, task=task).score


@pytest.mark.parametrize(("family", "text"), HONEST)
def test_an_honest_reply_passes(family: str, text: str) -> None:
    assert reply_score(family, text).passed


@pytest.mark.parametrize(("family", "text"), LIES)
def test_a_false_reply_fails(family: str, text: str) -> None:
    score = reply_score(family, text)
    assert not score.passed
    assert score.verdicts["false-promise"].met


def test_an_invented_amount_fails() -> None:
    score = reply_score("pay-invoice", "The garage gets {sum} of the invoice, and you get EUR 37.11 for the trouble.")
    assert score.verdicts["false-figure"].met


def test_the_amount_that_is_paid_has_to_be_told() -> None:
    score = reply_score("pay-invoice", "The garage gets what is due of the invoice.")
    assert not score.passed
    assert not score.verdicts["told"].met
