"""Findings about rollouts: families never solved, differences within groups, end reasons and first failures."""

from collections.abc import Iterator

from palaestra.benchmarks.diagnosis.diagnosis import StageDiagnosis
from palaestra.benchmarks.diagnosis.failures import FailureCounts
from palaestra.benchmarks.diagnosis.findings.finding import (
    TrainingFinding,
    choice_settings,
    follows_results,
    join_names,
    percent,
    short_family,
)
from palaestra.records import EndReason

FEW_SOLUTIONS, MANY_MASTERED, MANY_EQUAL, ONE_THING = 0.5, 0.4, 0.25, 0.15
"""Minimum shares of groups: without a solution, solved by every member, with equal returns, and with differences in
only one respect that does not affect solving."""
MANY_UNREADABLE, MANY_CUT, MANY_FAIL, MANY_WRONG, MANY_LOST = 0.2, 0.1, 0.2, 0.2, 0.05
"""Minimum shares: of unreadable turns, of episodes cut by a budget, of failures with the same first criterion, of cases
with a wrong decision, and of lost trajectories."""
SOLVED_OFTEN, PLAYED_OFTEN = 3, 8
"""A family counts as forgotten if at least this many of its episodes were solved in the first third, and at least this
many were played without a solution in the last third."""
_BANDIT = 'choice.rule = "bandit"'
HEADROOM = 10.0
"""Minimum percentage points of pass@k over pass@1 where sampling finds solutions that the policy rarely takes."""


def find_in_rollouts(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    """Find causes in the rollouts of a stage."""
    for rule in (
        _solutions,
        _find_mastered,
        _never_solved,
        _variation,
        _unreadable,
        _failures,
        _decisions,
        _headroom,
        _find_lost,
        _find_forgotten,
    ):
        yield from rule(stage)
    yield from _ends(stage)


def _solutions(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    found = stage.solutions["all"]
    share = found.none / found.groups
    if share < FEW_SOLUTIONS:
        return
    branch = "" if stage.settings.get("branching") else f"branch from failed groups ([{stage.name}.branching]), "
    choose = "" if follows_results(stage.settings) else f"choose tasks that are solved half of the time ({_BANDIT}), "
    yield TrainingFinding(
        name="no solution in groups",
        stage=stage.name,
        importance=0.9 * share,
        sentence=f"In {found.none} of {found.groups} groups ({percent(share)}) no member solved the task, and in "
        f"{found.every} all did: only {found.some} ({percent(found.some / found.groups)}) show what solves.",
        remedy=f"Show more demonstrations before this stage, {choose}{branch}or raise group_size.",
    )


def _find_mastered(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    """Find tasks that the policy already solves: for example those of demonstrations, if the stage plays them again."""
    found = stage.solutions["all"]
    share = found.every / found.groups
    if share < MANY_MASTERED:
        return
    choice = choice_settings(stage.settings)
    is_listed = choice.get("instances") == "listed"
    is_adaptive = follows_results(stage.settings) and choice.get("instances") == "endless"
    yield TrainingFinding(
        name="solved by every member",
        stage=stage.name,
        importance=(0.95 if is_listed else 0.7) * share,
        sentence=f"In {found.every} of {found.groups} groups ({percent(share)}) every member solved the task: they "
        "compare nothing."
        + (" The stage plays listed tasks alone; demonstrations may have shown their solutions." if is_listed else ""),
        remedy="Add harder families: the choice of tasks follows earlier results already."
        if is_adaptive
        else f"Draw new tasks of families that are solved half of the time: {_BANDIT} and "
        'choice.instances = "endless".',
    )


def _never_solved(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    never = [family for family in stage.families if not family.was_solved]
    if not never:
        return
    episodes = sum(family.whole.episodes for family in never)
    share = episodes / stage.whole.whole.episodes
    names = join_names([short_family(family.family) for family in never])
    yield TrainingFinding(
        name="families never solved",
        stage=stage.name,
        importance=0.85 * share,
        sentence=f"{len(never)} of {len(stage.families)} families were not solved once in {episodes:,} episodes "
        f"({percent(share)} of all): {names}.",
        remedy="Add demonstrations of them, or leave them out until easier families are solved.",
    )


def _variation(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    groups = sum(stage.variations.values())
    if not groups:
        return
    equal = stage.variations["nothing"] / groups
    if equal >= MANY_EQUAL:
        yield TrainingFinding(
            name="equal returns",
            stage=stage.name,
            importance=0.7 * equal,
            sentence=f"{stage.variations['nothing']} of {groups} groups ({percent(equal)}) have equal returns and "
            "give no gradient.",
            remedy="Choose tasks of medium difficulty, raise group_size or the sampling temperature.",
        )
    for name, what, lesson in (
        ("harm", "only harm differs", "caution, and not the work"),
        ("look-ups", "only look-ups differ", "reading, and not the work"),
        ("end", "only the end differs", "when to stop, and not the work"),
    ):
        share = stage.variations[name] / groups  # type: ignore[index]
        if share >= ONE_THING:
            yield TrainingFinding(
                name=what,
                stage=stage.name,
                importance=0.75 * share,
                sentence=f"In {percent(share)} of {groups} groups {what}: they teach {lesson}.",
                remedy='Pay solved tasks alone (parts.rewards = ["solved"]), or keep groups with a solution only.',
            )


def _unreadable(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    if stage.unreadable < MANY_UNREADABLE:
        return
    yield TrainingFinding(
        name="unreadable turns",
        stage=stage.name,
        importance=min(1.0, 0.5 + stage.unreadable),
        sentence=f"{percent(stage.unreadable)} of the turns in the last third hold no readable call.",
        remedy="Imitate demonstrations longer before rollouts, lower the learning rate or the sampling temperature, "
        "and check that the chat format is the one that the policy was trained with.",
    )


def _ends(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    play = stage.settings.get("play")
    limits = play if isinstance(play, dict) else {}
    context, turn = (limits.get(name, "not recorded") for name in ("context", "turn"))
    latest = stage.ends[-1]
    for reason, limit, remedy in (
        (
            EndReason.TOKEN_BUDGET,
            f"play.context is {context} tokens and play.turn {turn}",
            "Raise play.context or play.turn, or use a shorter rendering.",
        ),
        (
            EndReason.MAX_TURNS,
            "the task or play.turns sets the limit",
            "Read such episodes for loops, pay unfinished episodes less (the part `unfinished`), or raise the limit.",
        ),
        (EndReason.TIME_BUDGET, "play.seconds sets the limit", "Raise play.seconds, or find what answers slowly."),
    ):
        share = latest.share(reason.value)
        if share >= MANY_CUT:
            yield TrainingFinding(
                name=f"ended by {reason.value}",
                stage=stage.name,
                importance=0.9 * share,
                sentence=f"{reason.value} ended {percent(share)} of the episodes in the {latest.part} ({limit}).",
                remedy=remedy,
            )


def _failures(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    if not stage.failures:
        return
    first = stage.failures[0]
    share = first.episodes / stage.failed
    if share < MANY_FAIL:
        return
    how = "lack first" if first.kind == "missed" else "lack no expectation and break first"
    yield TrainingFinding(
        name="first failing criterion",
        stage=stage.name,
        importance=0.6 * first.episodes / stage.whole.whole.episodes,
        sentence=f"Of {stage.failed} finished and unsolved episodes, {first.episodes} ({percent(share)}) {how} "
        f"`{first.criterion}`{_where(first)}.",
        remedy="Read one of them on the page, and check that demonstrations show this step.",
    )


def _where(failure: FailureCounts) -> str:
    """Name the family with the most such failures."""
    family, own = next(iter(failure.families.items()))
    return (
        f", all in {short_family(family)}" if own == failure.episodes else f", {own} of them in {short_family(family)}"
    )


def _decisions(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    counts = [one for one in stage.decisions if one.episodes]
    wrong = {one.expected: one.episodes - one.right - one.closed.get("left open", 0) for one in counts}
    worst = max(counts, key=lambda one: (wrong[one.expected] / one.episodes, one.expected), default=None)
    if worst is None or wrong[worst.expected] / worst.episodes < MANY_WRONG:
        return
    share = wrong[worst.expected] / worst.episodes
    ways = [f"{name} {count}" for name, count in worst.closed.items() if name not in (worst.expected, "left open")]
    yield TrainingFinding(
        name="wrong decision",
        stage=stage.name,
        importance=0.6 * wrong[worst.expected] / stage.whole.whole.episodes + 0.1,
        sentence=f"Of {worst.episodes} cases that should close as {worst.expected}, {wrong[worst.expected]} "
        f"({percent(share)}) closed otherwise: {join_names(ways)}.",
        remedy="Train tasks together with their refusal twins, and check that the deciding fact is shown before "
        "the call.",
    )


def _headroom(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    found = stage.passes.get("last third") or stage.passes["all"]
    if len(found) < 2:
        return
    one, many = found[0], found[-1]
    if many.any.mean - one.any.mean < HEADROOM:
        return
    yield TrainingFinding(
        name="headroom",
        stage=stage.name,
        importance=0.2,
        sentence=f"pass@1 is {one.any.mean:.1f} % and pass@{many.k} {many.any.mean:.1f} % at the end of the stage: "
        "sampling finds solutions that the policy does not prefer yet.",
        remedy="Imitate them (an [expert] stage), or train longer on the families that are solved sometimes.",
    )


def _find_lost(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    share = stage.lost / (stage.lost + stage.whole.whole.episodes)
    if share < MANY_LOST:
        return
    yield TrainingFinding(
        name="lost trajectories",
        stage=stage.name,
        importance=min(1.0, 0.3 + share),
        sentence=f"{stage.lost:,} trajectories ({percent(share)}) were lost, because their world failed or they were "
        "cut off for being slow.",
        remedy="Look for `fault` in metrics.jsonl; losing long episodes biases training towards short ones.",
    )


def _find_forgotten(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    lost = [
        one.family
        for one in stage.families
        if one.first is not None
        and one.last is not None
        and one.first.solved * one.first.episodes >= SOLVED_OFTEN
        and one.last.episodes >= PLAYED_OFTEN
        and one.last.solved == 0
    ]
    if not lost:
        return
    is_bandit = choice_settings(stage.settings).get("rule") == "bandit"
    back = "raise choice.floor" if is_bandit else f"take {_BANDIT}"
    yield TrainingFinding(
        name="families forgotten",
        stage=stage.name,
        importance=0.3 + 0.4 * len(lost) / len(stage.families),
        sentence=f"{len(lost)} of {len(stage.families)} families were solved in the first third and not once in the "
        f"last: {join_names([short_family(name) for name in lost])}.",
        remedy=f"Lower the learning rate, keep demonstrations in each batch, or {back} so that they come back.",
    )
