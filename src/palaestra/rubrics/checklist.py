"""The state of a rubric during one episode: which criteria are met now, and their points.

It is updated after every call, and checks only the criteria that the call can affect. Its points are integers, so the
rewards sum exactly to the score.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from palaestra.errors import RowError, RubricError
from palaestra.ids import words
from palaestra.records import LAYERS, EndReason, Layer, Score, Standing, Verdict
from palaestra.rubrics.criterion import UNMET, Criterion
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.rubric import ADMITTED, TOTAL, UNFINISHED, Rubric

EARLY = Verdict(met=False, reason="done before what had to come first")
"""The verdict on work that was done before a criterion that it waits for."""
_KEPT = Verdict(met=False, reason="not violated")
_OTHER_REASONS = 3
"""How many other records a reason for giving up may name: naming everything that was read is not a reason."""


def _show(criterion: Criterion, verdict: Verdict) -> Verdict:
    """A verdict for people to read: a prohibition that is not met was kept."""
    return _KEPT if criterion.kind == "forbid" and verdict == UNMET else verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistSnapshot:
    """Everything that a checklist remembers."""

    counts: tuple[bool, ...]
    holds: tuple[bool, ...]
    verdicts: tuple[Verdict, ...]
    known: tuple[bool, ...]
    early: tuple[int, ...]
    end_points: int
    turn_start: int
    journal_length: int


class Checklist:
    """The live state of a rubric.

    Attributes:
        rubric: The rubric.
        counts: By position: whether the criterion counts, an expectation as won, a prohibition as broken.
        early: By position: the points of an expectation that was met before some of the n look-ups that it waits for.
            Each missing look-up costs 1/n of its points. It does not count as met.
        points: Points won minus points lost.
    """

    __slots__ = (
        "_end_points",
        "_holds",
        "_journal_length",
        "_known",
        "_standing",
        "_turn_start",
        "_verdicts",
        "counts",
        "early",
        "points",
        "rubric",
    )

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        size = len(rubric.criteria)
        self.counts = [False] * size
        self.early = [0] * size
        self._end_points = 0
        self._holds = [False] * size
        self._verdicts = [UNMET] * size
        # The criteria that counted when the turn began: an agent cannot act on a look-up whose answer it has not read.
        self._known = [False] * size
        self._turn_start = 0
        self._journal_length = 0
        self._forget_standing()

    def _forget_standing(self) -> None:
        """Recompute what depends on the counting criteria, which have changed."""
        self.points: int = sum(compress(self.rubric.signed, self.counts)) + sum(self.early) + self._end_points
        self._standing: Standing | None = None

    def begin(self, evidence: Evidence) -> None:
        """Check that nothing is won or broken before the first call.

        Raises:
            RubricError: a criterion about the state already holds.
        """
        for position in self.rubric.about_state:
            if self._ask(position, evidence).met:
                raise RubricError(
                    f"criterion {self.rubric.criteria[position].id!r} holds before anything is done; "
                    "expect a change, not a fact"
                )

    def update(self, evidence: Evidence) -> None:
        """Update with the latest call of `evidence`."""
        self._take_in_turn(evidence)
        asked = self._about_latest(evidence)
        if not asked:
            return
        # Effects of this call must not count as earlier than the call, so the verdicts are taken first.
        before, counted, early = self._usable_criteria(), self.counts.copy(), self.early.copy()
        for position, verdict in asked:
            self._record(position, verdict, before)
        if counted != self.counts or early != self.early:
            self._forget_standing()

    def _about_latest(self, evidence: Evidence) -> list[tuple[int, Verdict]]:
        """The verdicts on the latest call that say something new."""
        counts, holds, verdicts = self.counts, self._holds, self._verdicts
        event = evidence.event
        news: list[tuple[int, Verdict]] = []
        for position in self.rubric.about_call(event.tool, wrote=event.written > 0):
            if not counts[position]:
                verdict = self._ask(position, evidence)
                if verdict.met or holds[position] or verdict is not verdicts[position]:
                    news.append((position, verdict))
        if event.written:
            news += self._about_rows(evidence)
        return news

    def _about_rows(self, evidence: Evidence) -> Iterator[tuple[int, Verdict]]:
        """The verdicts on the rows that the latest call wrote."""
        journal = evidence.journal
        written = {change.table for change in journal[self._journal_length :]}
        self._journal_length = len(journal)
        for position in self.rubric.about_state:
            tables = self.rubric.criteria[position].tables
            if tables is None or not tables.isdisjoint(written):
                yield position, self._ask(position, evidence)

    def finish(self, evidence: Evidence) -> None:
        """Update with the end of the episode.

        Messages win nothing if no expected outcome was reached. An unfinished episode keeps at most `UNFINISHED`
        points. Giving up wins `ADMITTED` points if it is an honest end, though not the right one (`_admits`).
        """
        self._take_in_turn(evidence)
        before = self._usable_criteria()
        for position in self.rubric.about_answer:
            self._record(position, self._ask(position, evidence), before)
        self._forget_standing()
        kept = self.points - self._empty_messages()
        if evidence.end is not None and evidence.end.is_unfinished:
            kept = ADMITTED if self._admits(evidence) else min(kept, UNFINISHED)
        if (end_points := kept - self.points) != self._end_points:
            self._end_points = end_points
            self._forget_standing()

    def _empty_messages(self) -> int:
        """The points of messages if outcomes are expected and none was reached, so that there was nothing to report."""
        outcomes = self.rubric.outcomes
        if not outcomes or any(self.counts[i] or self.early[i] for i in outcomes):
            return 0
        return sum(self.rubric.points[i] if self.counts[i] else self.early[i] for i in self.rubric.messages)

    def _admits(self, evidence: Evidence) -> bool:
        """Whether giving up was an honest admission.

        The request must be one to refuse, the look-ups that show it were made and read, nothing was changed or broken,
        and the reason names a record that says why.
        """
        if evidence.end is not EndReason.GAVE_UP or not self.rubric.refused_by or evidence.changes:
            return False
        broken = any(c and k.kind == "forbid" for c, k in zip(self.counts, self.rubric.criteria, strict=True))
        if broken or not all(self._known[position] for position in self.rubric.deciding):
            return False
        reason = evidence.event.arguments.get("reason")
        named = words(reason) & evidence.known_ids() if isinstance(reason, str) else set[str]()
        refused_by = self.rubric.refused_by
        return not named.isdisjoint(refused_by) and len(named - refused_by) <= _OTHER_REASONS

    def _take_in_turn(self, evidence: Evidence) -> None:
        if evidence.turn_start != self._turn_start:
            self._turn_start = evidence.turn_start
            self._known = self.counts.copy()

    def _usable_criteria(self) -> list[bool]:
        """Which criteria later work may depend on: work of an earlier call, look-ups answered in an earlier turn.

        Work that was done before its look-ups also counts here, so that criteria that wait for it can be met.
        """
        before = self.counts.copy()
        if any(self.early):
            before = [counts or early > 0 for counts, early in zip(self.counts, self.early, strict=True)]
        for position in self.rubric.lookups:
            before[position] = self._known[position]
        return before

    def _ask(self, position: int, evidence: Evidence) -> Verdict:
        criterion = self.rubric.criteria[position]
        try:
            return criterion.check(evidence)
        except RowError as missing:  # missing evidence is not evidence
            return Verdict(met=False, reason=str(missing))
        except Exception as crash:
            raise RubricError(f"criterion {criterion.id!r} crashed: {crash!r}; mend its check") from crash

    def _record(self, position: int, verdict: Verdict, before: list[bool]) -> None:
        held = self._holds[position]
        self._holds[position] = verdict.met
        if not verdict.met:
            self.counts[position] = False
            if self.rubric.criteria[position].about == "state":
                self.early[position] = 0
        elif not held:
            self.counts[position] = all(before[i] for i in self.rubric.after[position])
            if self.counts[position]:
                self.early[position] = 0
            else:
                self.early[position] = max(self.early[position], self._part(position, before))
                # A later call may repeat it in order; a state that was reached too early must first be undone.
                self._holds[position] = self.rubric.criteria[position].about == "state"
        self._verdicts[position] = EARLY if verdict.met and not self.counts[position] else verdict

    def _part(self, position: int, before: Sequence[bool]) -> int:
        """The points of an expectation that was met too early: 0 if work that it waits for is missing."""
        facts = self.rubric.facts[position]
        missing = sum(not before[i] for i in facts)
        if missing < sum(not before[i] for i in self.rubric.after[position]):
            return 0
        return max(0, self.rubric.signed[position]) * (len(facts) - missing) // len(facts)

    def standing(self) -> Standing:
        """The points so far, in total and by layer, and the criteria that count."""
        if self._standing is None:
            components: dict[Layer, int] = dict.fromkeys(LAYERS, 0)
            named: dict[str, list[str]] = {"expect": [], "forbid": []}
            for criterion, points in compress(self.rubric.signed_criteria, self.counts):
                components[criterion.layer] += points
                named[criterion.kind].append(criterion.id)
            if any(self.early):
                for criterion, points in zip(self.rubric.criteria, self.early, strict=True):
                    components[criterion.layer] += points
            components["task"] += self._end_points
            self._standing = Standing(
                points=self.points,
                components=components,
                met=tuple(named["expect"]),
                violated=tuple(named["forbid"]),
            )
        return self._standing

    def score(self, end: EndReason | None) -> Score:
        """The judgement so far, for an episode that ended by `end` (`None`: it has not ended)."""
        right = all(c == (k.kind == "expect") for c, k in zip(self.counts, self.rubric.criteria, strict=True))
        return Score(
            points=self.points,
            total=TOTAL,
            passed=right and end is not None and not end.is_unfinished,
            verdicts={c.id: _show(c, v) for c, v in zip(self.rubric.criteria, self._verdicts, strict=True)},
            components=dict(self.standing().components),
        )

    def snapshot(self) -> ChecklistSnapshot:
        """A snapshot for `restore`."""
        return ChecklistSnapshot(
            counts=tuple(self.counts),
            holds=tuple(self._holds),
            verdicts=tuple(self._verdicts),
            known=tuple(self._known),
            early=tuple(self.early),
            end_points=self._end_points,
            turn_start=self._turn_start,
            journal_length=self._journal_length,
        )

    def restore(self, snapshot: ChecklistSnapshot) -> None:
        """Restore the state of the checklist that made `snapshot`."""
        self.counts = list(snapshot.counts)
        self._holds = list(snapshot.holds)
        self._verdicts = list(snapshot.verdicts)
        self._known = list(snapshot.known)
        self.early = list(snapshot.early)
        self._end_points = snapshot.end_points
        self._turn_start = snapshot.turn_start
        self._journal_length = snapshot.journal_length
        self._forget_standing()
