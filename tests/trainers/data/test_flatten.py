from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings

from palaestra.errors import RecordError
from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten, flatten_tokens
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trajectory import Episode, Segment, Span, Tokens
from palaestra.transcript import transcript_of
from trajectories import batches, episode, segment_tokens, turn

ARRAYS = [name for name in TokenBatch.__dataclass_fields__ if name != "columns"]


def plain(episodes: Sequence[Episode]) -> dict[str, list[float]]:
    """What `flatten` says, token by token."""
    columns: dict[str, list[float]] = {name: [] for name in ARRAYS}
    groups: list[str] = []
    for trajectory, one in enumerate(episodes):
        group = one.group or f"own {trajectory}"
        if group not in groups:
            groups.append(group)
        columns["group_R"].append(groups.index(group))
        columns["return_R"].append(one.episode_return)
        for segment in one.segments:
            tokens = segment.tokens
            assert tokens is not None
            before = len(columns["trajectory_U"])
            whole = [span for span in tokens.spans if span.kind == "turn"]
            for number, _ in enumerate(whole):
                columns["trajectory_U"].append(trajectory)
                columns["reward_U"].append(segment.turns[number].reward if number < len(segment.turns) else 0.0)
            for place, (id_, own) in enumerate(zip(tokens.ids, tokens.sampled, strict=True)):
                trained = own and place > 0
                holders = [n for n, span in enumerate(whole) if span.start <= place < span.end]
                columns["ids_T"].append(id_)
                columns["position_T"].append(place)
                columns["trained_T"].append(trained)
                columns["logprob_T"].append(tokens.logprobs[place] if trained else 0.0)
                columns["version_T"].append(tokens.versions[place] if trained else 0)
                columns["advantage_T"].append(0.0)
                columns["weight_T"].append(0.0)
                columns["segment_T"].append(len(columns["trajectory_S"]))
                columns["turn_T"].append(before + holders[0] if holders else NO_TURN)
                columns["part_T"].append(PARTS.index(part_at(tokens, place)))
            columns["trajectory_S"].append(trajectory)
    return columns


def part_at(tokens: Tokens, place: int) -> str:
    for number, span in enumerate(tokens.spans):
        if span.kind == "turn" and span.start <= place < span.end:
            parts: list[Span] = []
            for other in tokens.spans[number + 1 :]:
                if other.kind == "turn":
                    break
                parts.append(other)
            inside = [part.kind for part in parts if part.start <= place < part.end]
            return "action" if not parts else (inside[0] if inside else "")
    return ""


@settings(max_examples=50, deadline=None)
@given(given=batches)
def test_each_array_says_of_each_token_what_its_record_says(given: list[Episode]) -> None:
    batch = flatten(given)
    for name, column in plain(given).items():
        assert getattr(batch, name).tolist() == column, name


def test_arrays_have_the_types_that_training_counts_on() -> None:
    batch = flatten_tokens([Tokens(ids=(1,), sampled=(False,), logprobs=(0.0,), versions=(0,))])
    for name in ARRAYS:
        kind = torch.bool if name == "trained_T" else torch.long
        if name in {"logprob_T", "advantage_T", "weight_T", "reward_U", "return_R"}:
            kind = torch.float32
        assert getattr(batch, name).dtype == kind, name
    assert len(batch.reward_U) == len(batch.trajectory_U) == 0


@settings(max_examples=50, deadline=None)
@given(given=segment_tokens())
def test_bare_tokens_are_episodes_of_one_segment_that_were_paid_nothing(given: Tokens) -> None:
    count = sum(span.kind == "turn" for span in given.spans)
    unpaid = Segment(prompt=(), turns=tuple(turn(0.0) for _ in range(count)), tokens=given)
    bare = flatten_tokens([given] * 2)
    assert bare.equals(replace(flatten([episode(unpaid)] * 2), columns={}))


def test_a_demonstration_is_trained_in_its_turns_alone(compact: ReferencePolicy, episodes: Sequence[Episode]) -> None:
    batch = flatten_tokens([demonstration(transcript_of(one), compact.codec) for one in episodes])
    assert torch.equal(batch.trained_T, batch.turn_T != NO_TURN)
    assert len(batch.trajectory_U) == sum(len(list(one.turns)) for one in episodes)
    assert batch.group_R.tolist() == list(range(len(episodes)))


GOOD = Tokens(
    ids=(5, 6, 7, 8),
    sampled=(False, True, True, False),
    logprobs=(0.0, -1.0, -1.0, 0.0),
    versions=(0, 1, 1, 0),
    spans=(Span(kind="turn", start=1, end=3), Span(kind="plan", start=1, end=2)),
    stops=("end",),
)


def of(tokens: Tokens | None, *, turns: int = 1) -> Episode:
    return episode(Segment(prompt=(), turns=(turn(1.0),) * turns, tokens=tokens), id="run-7/3")


def spans(*marked: tuple[str, int, int]) -> Callable[[], Episode]:
    return lambda: of(replace(GOOD, spans=tuple(Span(kind=k, start=s, end=e) for k, s, e in marked)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (lambda: of(None), "segment 0 has no tokens"),
        (lambda: episode(id="run-7/3"), "has no segments"),
        (lambda: of(replace(GOOD, ids=(), sampled=(), logprobs=(), versions=(), spans=()), turns=0), "has no token"),
        (lambda: of(replace(GOOD, sampled=(True,))), "4 ids and 1 sampled"),
        (lambda: of(replace(GOOD, logprobs=(0.0,) * 5)), "4 ids and 5 logprobs"),
        (lambda: of(replace(GOOD, versions=())), "4 ids and 0 versions"),
        (lambda: of(GOOD, turns=2), "mark 1 turns and its record has 2"),
        (lambda: episode(*of(GOOD, turns=0).segments, *of(GOOD).segments, id="run-7/3"), "its record has 0"),
        (spans(("turn", 1, 5)), r"turn \[1, 5\) does not lie within \[0, 4\)"),
        (spans(("turn", -1, 3)), r"turn \[-1, 3\) does not lie"),
        (spans(("turn", 3, 1)), r"turn \[3, 1\) does not lie"),
        (spans(("turn", 1, 3), ("plan", 1, 4)), r"plan \[1, 4\) does not lie within \[1, 3\)"),
        (spans(("turn", 1, 3), ("plan", 1, 3), ("action", 2, 3)), r"action \[2, 3\) does not lie within \[3, 3\)"),
        (spans(("plan", 0, 1), ("turn", 1, 3)), r"plan \[0, 1\) does not lie within \[0, 0\)"),
        (spans(("turn", 1, 2)), "token 2 was sampled and no turn holds it"),
    ],
)  # fmt: skip
def test_a_record_that_breaks_a_rule_is_refused_by_name(spoilt: Callable[[], Episode], says: str) -> None:
    with pytest.raises(RecordError, match=says) as raised:
        flatten([of(GOOD), spoilt()])
    assert "episode 1 (run-7/3)" in str(raised.value)


def test_turns_that_overlap_are_refused() -> None:
    overlapping = replace(GOOD, spans=(Span(kind="turn", start=1, end=3), Span(kind="turn", start=2, end=3)))
    with pytest.raises(RecordError, match=r"demonstration 1: the span turn \[2, 3\) does not lie within \[3, 4\)"):
        flatten_tokens([GOOD, overlapping])


def test_an_episode_without_an_id_is_named_by_its_task() -> None:
    with pytest.raises(RecordError, match=r"episode 0 \(nothing/none/0000\)"):
        flatten([replace(of(None), id="")])


@pytest.mark.parametrize("make", [lambda: flatten([]), lambda: flatten_tokens([])])
def test_nothing_cannot_be_flattened(make: Callable[[], TokenBatch]) -> None:
    with pytest.raises(RecordError, match="give at least one"):
        make()
