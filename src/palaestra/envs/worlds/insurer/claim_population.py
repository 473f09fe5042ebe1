"""Claims and their evidence: documents, invoices, lost things, reserves, payments, recoveries, surveys, releases."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TypeVar, cast

from palaestra.envs.kit import percent_half_up
from palaestra.envs.worlds.insurer.amounts import Calculations, invoice_counts, items_count, payable
from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import (
    Claim,
    ClaimDocument,
    ClaimPayment,
    Contract,
    Cover,
    DocumentKind,
    Garage,
    Invoice,
    ItemCategory,
    LossItem,
    OtherInsurer,
    PaymentKind,
    Peril,
    Product,
    Recovery,
    RepairRelease,
    Reserve,
    Survey,
    Surveyor,
)
from palaestra.records import Row
from palaestra.seeding import Stream

R = TypeVar("R", bound=Row)

_PERILS: dict[Product, tuple[Peril, ...]] = {
    "motor": ("collision", "collision", "collision", "theft", "glass"),
    "household": ("fire", "burglary", "water", "fire", "burglary"),
}
"""The perils of claims, in turn."""
_THINGS: dict[ItemCategory, tuple[tuple[str, int, int], ...]] = {
    "furniture": (("armchair", 300, 900), ("bookcase", 200, 700), ("oak table", 500, 1_600), ("carpet", 250, 1_200)),
    "electronics": (("television", 400, 1_500), ("laptop", 600, 1_900), ("camera", 350, 1_400), ("hi-fi", 300, 1_100)),
    "clothing": (("winter coat", 150, 600), ("suit", 250, 800), ("boots", 120, 350), ("dresses", 200, 700)),
    "valuables": (("gold ring", 900, 4_000), ("wristwatch", 800, 5_000), ("necklace", 700, 3_500)),
}
VAT = 19


def make_invoice(
    key: str, claim: Claim, garage: Garage, number: str, issued: date, *, parts: int, hours: int, rate: int
) -> Invoice:
    """An invoice whose columns add up."""
    net = parts + hours * rate
    vat = percent_half_up(net, VAT)
    return Invoice(
        id=key,
        claim_id=claim.id,
        garage_id=garage.id,
        number=number,
        issued=issued,
        parts_cents=parts,
        labour_hours=hours,
        labour_rate_cents=rate,
        vat_cents=vat,
        total_cents=net + vat,
    )


class ClaimPopulation:
    """The claims of some contracts, with all that belongs to them."""

    def __init__(
        self,
        stream: Stream,
        today: date,
        rules: InsurerRules,
        contracts: Sequence[Contract],
        covers: Sequence[Cover],
        firms: Sequence[Row],
        surveyors: Sequence[Surveyor],
    ) -> None:
        self._stream, self._today, self._rules = stream, today, rules
        self._contracts = contracts
        self._covers = {(cover.contract_id, cover.peril): cover for cover in covers}
        self._garages = [firm for firm in firms if isinstance(firm, Garage)]
        self._surveyors = [one for one in surveyors if one.field == "property"]
        self._insurers = [firm for firm in firms if isinstance(firm, OtherInsurer)]
        self._rows: list[Row] = []
        self._counts: dict[str, int] = {}

    def rows(self) -> list[Row]:
        """Every row, the settled claim of each contract before the open one."""
        for number, contract in enumerate(self._contracts):
            perils = _PERILS[contract.product]
            self._add_settled(contract, perils[(number // 2 + 1) % len(perils)], number)
            self._add_open(contract, perils[number // 2 % len(perils)])
        return self._rows

    def _key(self, prefix: str, first: int) -> str:
        number = self._counts[prefix] = self._counts.get(prefix, first - 1) + 1
        return f"{prefix}{number}"

    def _add(self, row: R) -> R:
        self._rows.append(row)
        return row

    def _claim(self, contract: Contract, peril: Peril, *, settled: bool) -> Claim:
        days = self._stream.between(620, 900) if settled else self._stream.between(12, 36)
        loss = self._today - timedelta(days=days)
        estimate = 1_000 * self._stream.between(90, 420)
        claim = self._add(
            Claim(
                id=self._key("CLM-", 5001),
                contract_id=contract.id,
                peril=peril,
                loss_day=loss,
                reported=loss,
                estimate_cents=40_000 if peril == "glass" else estimate,
                status="settled" if settled else "open",
                other_insurer_id=None,
                liable_percent=0,
            )
        )
        for kind, later in (("statement", 1), ("photos", 2)):
            self._document(claim, cast("DocumentKind", kind), loss + timedelta(days=later))
        if peril in ("theft", "burglary"):
            self._document(claim, "police_report", loss + timedelta(days=3), f"PR-{self._stream.between(20000, 89999)}")
        self._add(
            Reserve(
                id=self._key("RSV-", 7001),
                claim_id=claim.id,
                amount_cents=claim.estimate_cents + percent_half_up(claim.estimate_cents, self._rules.reserve_percent),
                set_on=loss,
            )
        )
        return claim

    def _document(self, claim: Claim, kind: DocumentKind, dated: date, reference: str | None = None) -> None:
        self._add(
            ClaimDocument(
                id=self._key("DOC-", 8001),
                claim_id=claim.id,
                kind=kind,
                status="received",
                dated=dated,
                reference=reference,
                amount_cents=None,
            )
        )

    def _invoice(self, claim: Claim, issued: date, *, partner: bool, small: bool) -> tuple[Invoice, Garage]:
        garage = self._stream.choice([one for one in self._garages if one.partner == partner])
        invoice = make_invoice(
            self._key("INV-", 9001),
            claim,
            garage,
            f"{self._stream.between(2, 9)}{self._stream.between(1000, 9999)}",
            issued,
            parts=100 * (self._stream.between(20, 60) if small else self._stream.between(300, 1_100)),
            hours=1 if small else self._stream.between(3, 9),
            rate=100 * self._stream.between(88, 108),
        )
        self._add(invoice)
        return invoice, garage

    def _payment(self, claim: Claim, kind: PaymentKind, cents: int, day: date, invoice: Invoice | None = None) -> None:
        self._add(
            ClaimPayment(
                id=self._key("PAY-", 6001),
                claim_id=claim.id,
                kind=kind,
                invoice_id=None if invoice is None else invoice.id,
                invoice_number=None if invoice is None else invoice.number,
                amount_cents=cents,
                paid_on=day,
                status="paid",
                approver_id=None,
            )
        )

    def _items(self, claim: Claim) -> list[LossItem]:
        kinds: list[ItemCategory] = ["furniture", "electronics", "clothing"]
        if claim.peril == "burglary":
            kinds = ["electronics", "clothing", "valuables"]
        found: list[LossItem] = []
        for kind in kinds:
            what, low, high = self._stream.choice(_THINGS[kind])
            item = LossItem(
                id=self._key("ITM-", 1001),
                claim_id=claim.id,
                what=what,
                category=kind,
                bought=claim.loss_day - timedelta(days=self._stream.between(60, 3_300)),
                price_cents=1_000 * self._stream.between(low // 10, high // 10),
            )
            found.append(self._add(item))
        return found

    def _add_open(self, contract: Contract, peril: Peril) -> None:
        claim = self._claim(contract, peril, settled=False)
        if contract.product == "household":
            self._items(claim)
        elif peril == "collision":
            towing, _ = self._invoice(claim, claim.loss_day + timedelta(days=1), partner=True, small=True)
            self._payment(claim, "assistance", towing.total_cents, claim.loss_day + timedelta(days=6), towing)

    def _add_settled(self, contract: Contract, peril: Peril, number: int) -> None:
        claim, work = self._claim(contract, peril, settled=True), Calculations()
        cover, day = self._covers[contract.id, peril], claim.loss_day + timedelta(days=self._stream.between(20, 60))
        if contract.product == "household":
            due = payable(items_count(self._rules, self._items(claim), cover, claim.loss_day, work), cover, work)
            self._payment(claim, "compensation", due, day)
            if number % 4 == 1:
                self._survey(claim)
            return
        partner = self._stream.chance(60)
        invoice, garage = self._invoice(claim, day - timedelta(days=9), partner=partner, small=False)
        counts = invoice_counts(self._rules, invoice, work, partner=partner, vat=True)
        due = payable(counts, cover, work)
        self._payment(claim, "invoice", due, day, invoice)
        if number % 4 == 0:
            self._add(
                RepairRelease(
                    id=self._key("RLS-", 1),
                    claim_id=claim.id,
                    garage_id=garage.id,
                    amount_cents=invoice.total_cents,
                    released=claim.loss_day + timedelta(days=5),
                )
            )
        if peril == "collision" and number % 3 != 1:
            self._recover(claim, due, day, received=number % 3 == 0)

    def _survey(self, claim: Claim) -> None:
        """A survey of the past."""
        self._add(
            Survey(
                id=self._key("SVY-", 1),
                claim_id=claim.id,
                surveyor_id=self._stream.choice(self._surveyors).id,
                ordered=claim.loss_day + timedelta(days=3),
                status="reported",
            )
        )

    def _recover(self, claim: Claim, paid: int, day: date, *, received: bool) -> None:
        """A recovery of a settled claim for which somebody else is liable."""
        insurer = self._stream.choice([one for one in self._insurers if not one.sharing_agreement])
        liable = 10 * self._stream.between(4, 10)
        self._rows[self._rows.index(claim)] = claim = replace(claim, other_insurer_id=insurer.id, liable_percent=liable)
        demanded = percent_half_up(paid, liable)
        accepted = 10 * self._stream.between(5, 10) if received else 0
        self._add(
            Recovery(
                id=self._key("RCV-", 1),
                claim_id=claim.id,
                other_insurer_id=insurer.id,
                demanded_cents=demanded,
                received_cents=percent_half_up(demanded, accepted),
                accepted_percent=accepted,
                status="received" if received else "demanded",
                demanded_on=day + timedelta(days=7),
            )
        )
