"""Findings about rewards: stalling, points without solutions, harm, and whether acting pays."""

from collections.abc import Iterator

from palaestra.benchmarks.diagnosis.change import FigureChange
from palaestra.benchmarks.diagnosis.diagnosis import StageDiagnosis
from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding, join_names, percent

STALLING, MUCH_HARM = 0.1, 0.1
"""Minimum rise of the share unfinished, and minimum share of episodes with harm, for a finding."""
FALL, RISE = 0.02, 1.0
"""Minimum fall of the share solved, and minimum rise of points, for a finding that they diverge."""
UNCERTAIN = 0.6
"""Weight of a change within two standard errors."""


def find_in_pay(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    """Find causes in the returns of a stage."""
    for rule in (_stalling, _apart, _break_even, _harm):
        yield from rule(stage)


def _stalling(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    change, solved = stage.changes.get("unfinished"), stage.changes.get("solved")
    if change is None or solved is None or change.difference < STALLING:
        return
    ends = stage.ends[-1]
    reasons = [f"{name} {percent(ends.share(name))}" for name in ends.ends if name != "finished"]
    yield TrainingFinding(
        name="stalling",
        stage=stage.name,
        importance=min(1.0, 0.55 + change.difference) * (1.0 if change.is_certain else UNCERTAIN),
        sentence=f"Unfinished episodes rose from {percent(change.first)} to {percent(change.last)}{_noise(change)}, "
        f"and solved ones went from {percent(solved.first)} to {percent(solved.last)}; at the end: "
        f"{join_names(reasons, most=3)}.",
        remedy="Pay unfinished episodes less (the part `unfinished` of rewards) or solved tasks alone "
        '(parts.rewards = ["solved"]), and lower the learning rate if turns become unreadable.',
    )


def _apart(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    points, solved = stage.changes.get("points"), stage.changes.get("solved")
    if points is None or solved is None or solved.difference > -FALL or points.difference < RISE:
        return
    certain = points.is_certain and solved.is_certain
    yield TrainingFinding(
        name="points up, solved down",
        stage=stage.name,
        importance=0.95 * (1.0 if certain else UNCERTAIN),
        sentence=f"Points rose from {points.first:.1f} to {points.last:.1f}{_noise(points)}, while the share solved "
        f"fell from {percent(solved.first)} to {percent(solved.last)}{_noise(solved)}: the reward pays for something "
        "that does not solve tasks.",
        remedy='Pay solved tasks alone (parts.rewards = ["solved"]), or read what the best-paid unsolved episodes do.',
    )


def _noise(change: FigureChange) -> str:
    return "" if change.is_certain else " (within the noise of so few groups)"


def _break_even(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    found = stage.break_evens[0]
    if found.pays is not False or found.share is None or found.share_of_right_acts is None:
        return
    wrong, idle = found.wrong_points, found.idle_points
    assert wrong is not None, "a break-even has wrong acts"
    assert idle is not None, "a break-even has idle episodes"
    origin = "" if found.right_recorded else " by the rubric"
    yield TrainingFinding(
        name="acting does not pay",
        stage=stage.name,
        importance=min(0.95, 0.6 + (found.share - found.share_of_right_acts) / 2),
        sentence=f"Acting pays from {percent(found.share)} right acts on, and {percent(found.share_of_right_acts)} of "
        f"{found.acts} were right: doing nothing pays more. A right act won {found.right_points:.1f} points{origin}, a "
        f"wrong one {wrong:.1f}, writing nothing {idle:.1f}.",
        remedy="Raise the share of right acts with demonstrations first, or price wrong acts lower (the parts "
        "`harm-scale` and `bounded` of rewards) until it is above the break-even.",
    )


def _harm(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    latest = stage.whole.last or stage.whole.first
    if latest is None or latest.harmed < MUCH_HARM:
        return
    names = [f"`{one.criterion}` {one.episodes}" for one in stage.broken]
    what = f"; of finished and unsolved episodes these broke first: {join_names(names, most=3)}" if names else ""
    yield TrainingFinding(
        name="harm",
        stage=stage.name,
        importance=0.6 * latest.harmed,
        sentence=f"{percent(latest.harmed)} of the last episodes did something forbidden{what}.",
        remedy="Read such an episode on the page; where a look-up was missing before the act, demonstrate it.",
    )
