"""What messages promise of others: that a colleague takes over."""

from palaestra.envs.kit.promise_words import WE, words
from palaestra.envs.worlds.storefront.schema import Refund, Ticket, WarrantyClaim
from palaestra.records import Row
from palaestra.rubrics.messages import Promise


def _is_handed_on(before: Row | None, after: Row) -> bool:
    match after:
        case Ticket():
            return after.status == "escalated"
        case Refund():
            return after.status == "pending_approval"
        case WarrantyClaim():
            # The warranty team sees to an open claim.
            return after.status == "open"
        case _:
            return before is None


_NO_THANKS = r"(?![^.]*\b(?:thanks|kind words|praise|compliments?)\b)"
HANDING_ON = Promise(
    name="that somebody else takes over",
    says=words(
        rf"{WE}(?:forward|pass|hand|escalat|refer)\w*\s{_NO_THANKS}[^.]*\b(?:colleague|team|supervisor|manager|finance|specialist)\b",
        rf"{WE}ask(?:ed|ing)?\s+(?:a|an|my|our|the)\s+(?:\w+\s+)?(?:colleague|team|supervisor|manager|specialist)\b",
        r"\b(?:colleague|supervisor|manager|specialist|(?:finance|fraud|warranty|warehouse) team)\b[^.]*"
        r"\b(?:will|is going to)\s+(?:\w+\s+)?"
        r"(?:look|write|call|contact|get back|be in touch|take over|check|handle)\b",
    ),
    rows={
        "tickets": _is_handed_on,
        "refunds": _is_handed_on,
        "internal_messages": _is_handed_on,
        "warranty_claims": _is_handed_on,
    },
)
