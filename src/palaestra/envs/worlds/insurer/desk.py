"""A draft of the Insurer world, and the two ways in which its tasks end: actions, or a refusal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar

from palaestra.envs.kit import CaseDraft, Letter, LetterKind, RefusalCondition, refusal_task
from palaestra.envs.task import Task, call
from palaestra.envs.worlds.insurer.assessment import Assessment
from palaestra.envs.worlds.insurer.letters import LETTERS
from palaestra.envs.worlds.insurer.rules import InsurerRules
from palaestra.envs.worlds.insurer.schema import Adjuster, Claim, Contract, Cover, Matter, Peril, Policyholder
from palaestra.envs.worlds.insurer.tools import CASES
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion
from palaestra.rubrics.messages import Amounts

APOLOGIES: Mapping[str, str] = {
    "COV-1": "I am sorry: the cover did not run on the day of the loss.",
    "COV-2": "I am sorry: the loss lies within the waiting period of the cover.",
    "RPT-1": "I am sorry: the loss reached us too late after its day.",
    "PRE-1": "I am sorry: a premium was overdue on the day of the loss in spite of a reminder.",
    "HIS-1": "I am sorry: this loss belongs to another claim, which was settled.",
    "HIS-2": "My colleagues of investigations look at your contract first.",
    "EVD-1": "I am sorry: the police report has not come in spite of our letter.",
    "BIL-1": "I am sorry: our books do not show what you describe of this invoice.",
    "SET-1": "I am sorry: nothing is left to pay on this claim.",
    "ADV-1": "I am sorry: the reserve does not allow an advance of that amount.",
    "AUT-2": "The management decides about the amount, since it is above my authority.",
    "AUT-3": "The management decides about your wish, since we are related.",
    "RPR-1": "I am sorry: the repair is too dear for the value of the car.",
    "SUR-1": "I am sorry: the loss is too small for a surveyor.",
    "REC-1": "I am sorry: too much time has passed since the loss.",
    "REC-2": "I am sorry: an agreement with the other insurer rules that out.",
    "REC-3": "I am sorry: the other insurer has not paid so far.",
    "WDR-1": "I am sorry: money was paid on this claim, so it stays.",
    "PRV-1": "I am sorry: I may tell that to the policyholder alone.",
}
"""What a requester is told where a section refuses the wish."""
MAX_TURNS = 60
"""The budget of turns: the longest solution has half as many calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAction:
    """One write that a task asks for."""

    call: ToolCall
    expected: Criterion
    allow: tuple[Allowance, ...] = ()
    """What it changes besides."""


class InsurerDraft(CaseDraft[Matter]):
    """A draft of this world."""

    cases = CASES
    letters: ClassVar[Mapping[str, LetterKind]] = LETTERS
    account_fields: ClassVar[tuple[str, ...]] = ("name", "email", "vat_registered")
    rules: InsurerRules
    planting_rules: InsurerRules

    def pick_claim(self, *perils: Peril, where: Callable[[Claim], bool] = lambda _: True) -> Claim:
        """An open claim of one of some perils."""
        return self.pick(Claim, lambda c: c.status == "open" and c.peril in perils and where(c), what="open claim")

    def contract(self, claim: Claim) -> Contract:
        """The contract of a claim."""
        return self.state.get(Contract, claim.contract_id)

    def holder(self, claim: Claim) -> Policyholder:
        """Whose claim it is."""
        return self.state.get(Policyholder, self.contract(claim).policyholder_id)

    def cover(self, claim: Claim) -> Cover:
        """The cover that insures the peril of a claim."""
        return self.state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)[0]

    def move_loss(self, claim: Claim, day: date) -> Claim:
        """The claim with its loss on another day, reported on that day."""
        return self.state.update(claim, loss_day=day, reported=day)

    def open_matter(
        self, kind: str, holder: Policyholder, *, subject: str, bodies: Sequence[str], **facts: str
    ) -> tuple[Matter, str]:
        """The matter that the task is about, and its prompt, in words of the split."""
        letter: Letter = self.word_request(
            kind, subject=subject, bodies=[body.format(**facts) for body in bodies], **facts
        )
        matter = self.open_case(holder, letter.subject)
        return matter, self.message(matter, letter.body)

    def assess(self, matter: Matter, holder: Policyholder) -> Assessment:
        """A decision to come to, by the rows as they are now."""
        now = self.state.get(Policyholder, holder.id)
        return Assessment(state=self.state, rules=self.rules, matter=matter, holder=now, today=self.today)


def decide(
    desk: InsurerDraft,
    a: Assessment,
    prompt: str,
    actions: Sequence[ClaimAction],
    *,
    message: str,
    states: Amounts | None = None,
) -> Task:
    """The task of an assessment: take some actions, or refuse for the reason that was found.

    Args:
        desk: The desk.
        a: The assessment.
        prompt: The request.
        actions: What the request comes to where nothing stands against it; none for a question.
        message: What the requester is told then.
        states: The amounts that this must state, in cents.
    """
    if a.reason is not None:
        return replace(_refuse(desk, a, prompt), max_turns=MAX_TURNS)
    known = [*a.facts.values(), desk.account(a.holder), *(desk.read(section) for section in a.sections)]
    after = tuple(fact.id for fact in known)
    done = [replace(action.expected, after=after) for action in actions]
    told = [criterion.id for criterion in done] or list(after)
    return Task(
        prompt=prompt,
        rubric=[*known, *done, *desk.expect_resolved(a.matter, after=told, states=states)],
        allow=[allowance for action in actions for allowance in action.allow],
        oracle=[*a.calls, *(action.call for action in actions), *desk.closing_calls(a.matter, message)],
        max_turns=MAX_TURNS,
    )


def _refuse(desk: InsurerDraft, a: Assessment, prompt: str) -> Task:
    assert a.reason is not None, "there is a reason"
    reason = a.reason
    why = RefusalCondition(
        section=reason.section,
        evidence=reason.evidence,
        facts=reason.facts,
        team=reason.team,
        priority=reason.priority,
        message=APOLOGIES[reason.section],
    )
    read = call("read_handbook", section_id=reason.section)
    opening = [made for made in a.calls if made != read]
    return refusal_task(desk, a.matter, prompt, why, account=a.holder, opening=opening, path=a.calls)


def name_colleague(colleague: Adjuster | None) -> dict[str, str]:
    """The argument that names an approver; none where nobody has to approve."""
    return {} if colleague is None else {"approver_id": colleague.id}
