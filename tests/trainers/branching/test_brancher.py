"""Which groups are branched, what is played, and what the figures say of it."""

from dataclasses import replace

import pytest

from palaestra.trainers.branching import Brancher, BranchingConfig, with_branches
from palaestra.trainers.loops.examples import ExampleStore
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trajectory import Episode, Segment, Span, Tokens
from trajectories import episode, turn

NAMES = ("expert", 0)


def played(id: str, *rewards: float, passed: bool = False, shared: int = 0) -> Episode:
    """Turns of one token behind a prompt of one, each answered by one."""
    width = 1 + 2 * len(rewards)
    tokens = Tokens(
        ids=tuple(range(width)),
        sampled=tuple(place % 2 == 1 and place > 2 * shared for place in range(width)),
        logprobs=(0.0,) * width,
        versions=(0,) * width,
        spans=tuple(Span(kind="turn", start=1 + 2 * n, end=2 + 2 * n) for n in range(len(rewards))),
        stops=tuple("end" for _ in rewards),
        shared_turns=shared,
    )
    one = episode(Segment(prompt=(), turns=tuple(map(turn, rewards)), tokens=tokens), id=id)
    return replace(one, seed=7, score=replace(one.score, passed=passed))


def group(index: int, *episodes: Episode) -> RolloutGroup:
    return RolloutGroup(index=index, version=3, task="w/f/0001", episodes=episodes, failed=0, straggled=0)


FAILED = group(4, played("e/4/0", 0, 0, 0, 0), played("e/4/1", 5, 5, -5, 0))
SOLVED = group(5, played("e/5/0", 0, 0), played("e/5/1", 5, 5, passed=True))
EMPTY = group(6)


def brancher(**settings: object) -> Brancher:
    return Brancher(BranchingConfig(**settings), names=NAMES)  # type: ignore[arg-type]


def test_only_groups_without_a_solution_are_branched() -> None:
    planned = brancher(pivots=("best", "recoverable")).plan([FAILED, SOLVED, EMPTY], 2)
    assert {one.group for one in planned} == {4}
    assert [one.fork.rule for one in planned] == ["best", "recoverable"]


def test_continuations_share_task_and_seed_and_draw_by_themselves() -> None:
    (best,) = brancher(pivots=("best",), continuations=3).plan([FAILED], 2)
    assert (best.fork.parent, best.fork.turns, best.fork.ratio) == ("e/4/1", 2, 0.5)
    assert [job.trajectory for job in best.jobs] == ["e/4/1/2/0", "e/4/1/2/1", "e/4/1/2/2"]
    assert {(job.task, job.seed, job.group) for job in best.jobs} == {("w/f/0001", 7, "e/4/1/2")}
    assert len({job.noise for job in best.jobs}) == 3
    (prefix,) = {job.prefix for job in best.jobs}
    assert prefix is not None
    assert prefix.tokens.ids == (0, 1, 2, 3, 4)


def test_rules_that_agree_make_one_fork() -> None:
    short = group(0, played("e/0/0", 5, 0))
    (only,) = brancher().plan([short], 0)
    assert only.fork.rule == "best"


def test_equal_names_plan_equal_branches_and_others_do_not() -> None:
    first, again = brancher(), brancher()
    assert first.plan([FAILED], 2) == again.plan([FAILED], 2)
    other = Brancher(BranchingConfig(), names=("expert", 1)).plan([FAILED], 2)
    assert {job.noise for one in other for job in one.jobs}.isdisjoint(
        job.noise for one in first.plan([FAILED], 2) for job in one.jobs
    )


def test_what_is_planned_follows_from_the_branches_that_were_seen() -> None:
    """A brancher that is shown the branches of earlier steps plans as the one that saw them come."""
    first, again = brancher(), brancher()
    for step in range(30):
        (plan, *_) = first.plan([group(step, played(f"e/{step}/0", *[0.0] * 9))], step)
        came = plan.branch([played("b", 0, passed=plan.fork.ratio < 0.5)], version=step)
        first.observe([came])
        again.observe([came])
    many = [group(n, played(f"e/{n}/0", *[0.0] * 9)) for n in range(30, 60)]
    assert first.plan(many, 30) == again.plan(many, 30) != brancher().plan(many, 30)
    assert first.metrics([])["branching/odds_slope"] < 0


def test_figures_count_groups_forks_and_tokens() -> None:
    own = brancher(pivots=("best", "recoverable"), continuations=2)
    best, other = own.plan([FAILED], 2)
    came = [
        best.branch([played("a", 5, 5, 90, passed=True, shared=2), None], version=2),
        other.branch([played("b", 0, 0, shared=1), played("c", 0, 0, 0, shared=1)], version=2),
    ]
    own.observe(came)
    figures = own.metrics(came)
    assert figures == {
        "branching/groups": 1,
        "branching/solved": 1,
        "branching/forks": 2,
        "branching/continuations": 3,
        "branching/failed": 1,
        "branching/tokens_shared": 5 + 3 + 3,
        "branching/tokens_drawn": 1 + 1 + 2,
        "branching/solved/best": 1,
        "branching/solved/recoverable": 0,
        "branching/depth": pytest.approx((0.5 + other.fork.ratio) / 2),
    }


def test_a_solution_found_from_a_fork_is_imitated_whole_in_place_of_the_beginning() -> None:
    (best,) = brancher(pivots=("best",), continuations=1).plan([FAILED], 2)
    branch = best.branch([played("a", 5, 5, 90, passed=True, shared=2)], version=2)
    merged = with_branches([FAILED, SOLVED], [branch])
    assert [len(one.episodes) for one in merged] == [3, 2]
    assert merged[1] is SOLVED
    store = ExampleStore(KeepConfig())
    store.add(merged[:1])
    ((example,),) = store.families.values()
    assert example.solved
    assert [place for place, mine in enumerate(example.tokens.sampled) if mine] == [1, 3, 5]


# settings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"continuations": 0}, "continuations=0: at least 1"),
        ({"depth": 250.0}, "depth=250.0: a number from 0 to 100"),
        ({"depth": float("nan")}, "depth=nan: a number from 0 to 100"),
        ({"pivots": ()}, r"pivots=\[\]: one or more of best, recoverable, naming"),
        ({"pivots": ("best", "best")}, "each once"),
        ({"depth": -1.0}, "depth=-1.0: a number from 0 to 100"),
        ({"window": 0}, "window=0: at least 1 fork"),
        ({"pivots": ("best",), "depth": 3.0}, 'depth=3.0: only the pivot rule "recoverable" reads it'),
        ({"pivots": ("naming",), "window": 5}, 'window=5: only the pivot rule "recoverable" reads it'),
    ],
)
def test_settings_without_effect_or_sense_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        BranchingConfig(**settings)  # type: ignore[arg-type]
