"""Worlds joined from parts by hand, so that tests do not depend on what a number draws."""

from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias

from palaestra.envs.blueprints import Blueprint
from palaestra.envs.synthesis import DomainLexicon, domains, join_parts
from palaestra.seeding import Stream

Words: TypeAlias = Literal["clinic", "salon"]
MECHANISMS = ("booking", "ledger")


@cache
def joined(words: Words, seed: int = 0) -> Blueprint:
    """A world of booking and ledger at a clinic, or at a salon: the clinic in other words."""
    clinic = domains()["clinic"]
    return join_parts(0, clinic if words == "clinic" else _salon(clinic), MECHANISMS, Stream.root("test", seed))


def _salon(clinic: DomainLexicon) -> DomainLexicon:
    booking = {**clinic.mechanisms["booking"], "resource": "chair, chairs, CH-", "booking": "sitting, sittings, SI-"}
    ledger = {**clinic.mechanisms["ledger"], "charge": "receipt, receipts, RC-"}
    return replace(clinic, id="salon", person="guest, guests, GU-", mechanisms={"booking": booking, "ledger": ledger})
