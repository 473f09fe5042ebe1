"""What noise in the Insurer's world is made of: other words, what happens by itself, notes that contradict records."""

from datetime import datetime, timedelta
from typing import Any

from palaestra.envs.kit import amount, case_noise, note_about
from palaestra.envs.noise.material import WorldEvent
from palaestra.envs.worlds.insurer.schema import (
    Claim,
    Contract,
    Cover,
    Policyholder,
    Premium,
    Recovery,
    Surveyor,
)
from palaestra.envs.worlds.insurer.tools import CASES
from palaestra.protocols import State
from palaestra.seeding import Stream


def _take_survey(state: State, surveyor: Surveyor, _stream: Stream, _now: datetime) -> None:
    """A surveyor takes a survey of another desk."""
    state.update(surveyor, open_surveys=surveyor.open_surveys + 1)


def _pay_premium(state: State, premium: Premium, _stream: Stream, now: datetime) -> None:
    """A premium is paid before it is due."""
    state.update(premium, paid_on=now.date())


def _receive(state: State, recovery: Recovery, _stream: Stream, _now: datetime) -> None:
    """Another insurer pays in full."""
    state.update(recovery, status="received", accepted_percent=100, received_cents=recovery.demanded_cents)


_EVENTS: tuple[WorldEvent[Any], ...] = (
    WorldEvent(name="survey-taken", kind=Surveyor, where=lambda row: not row.on_leave, move=_take_survey),
    WorldEvent(name="premium-paid", kind=Premium, where=lambda row: row.paid_on is None, move=_pay_premium),
    WorldEvent(name="recovered", kind=Recovery, where=lambda row: row.status == "demanded", move=_receive),
)


def _holder(state: State, row: Cover | Claim | Premium) -> Policyholder:
    contract = state.get(Contract, row.contract_id)
    return state.get(Policyholder, contract.policyholder_id)


def _wrong_deductible(cover: Cover, stream: Stream) -> str:
    cents = cover.deductible_cents + 1_000 * stream.between(1, 9)
    return f"Note by phone: speaks of {amount(cents)} deductible for {cover.id}"


def _wrong_day(claim: Claim, stream: Stream) -> str:
    day = claim.loss_day - timedelta(days=stream.between(2, 8))
    return f"Note by phone: {claim.id} is said to have happened on {day}"


def _wrong_payment(premium: Premium, stream: Stream) -> str:
    day = premium.due + timedelta(days=stream.between(20, 40))
    return f"Note by phone: {premium.id} is said to have been paid on {day}"


NOISE = case_noise(
    CASES,
    subjects=("A question about my bonus", "Thank you for the quick help", "When will you call?"),
    synonyms={
        "claim": ("loss_file", "damage_report", "casualty"),
        "claims": ("loss_files", "damage_reports", "casualties"),
        "contract": ("agreement_of_insurance", "insurance_plan", "coverage_plan"),
        "contracts": ("agreements_of_insurance", "insurance_plans", "coverage_plans"),
        "deductible": ("excess", "own_share", "retention"),
        "invoice": ("bill", "account_rendered", "statement_of_costs"),
        "matter": ("dossier_item", "inquiry", "submission"),
        "recovery": ("recourse", "clawback", "subrogation"),
        "reserve": ("provision", "set_aside", "allocation"),
    },
    texts={"loss_items": ("what",), "contracts": ("insured",)},
    events=_EVENTS,
    contradictions=(
        note_about(CASES, Cover, _wrong_deductible, whose=_holder, since="since"),
        note_about(CASES, Claim, _wrong_day, whose=_holder, since="since"),
        note_about(CASES, Premium, _wrong_payment, whose=_holder, since="since"),
    ),
)
"""What the world hands to its noise."""
