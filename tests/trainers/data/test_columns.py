"""What records tell objectives. Axes: U turns, R trajectories, L layers, C expectations, K criteria."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings

from palaestra.records import LAYERS, CriterionSpec, EndReason
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.data.columns import stable_number
from palaestra.trainers.data.flatten import flatten, flatten_tokens
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trajectory import Episode, Segment, Turn
from rollouts.library import codec, shown
from rollouts.playing import played
from trajectories import RUBRICS, batches, episode, event, expectation, planned, sequence, turn

START = turn(0.0)


def acted(*turns: Turn, unanswered: int = 0, rubric: Sequence[CriterionSpec] = ()) -> Episode:
    """An episode of one-token turns."""
    tokens = sequence(1, *range(2, 2 + len(turns) + unanswered), own=0)
    written = [replace(tokens.spans[0], start=place, end=place + 1) for place in range(1, len(tokens.ids))]
    tokens = replace(tokens, sampled=(False,) + (True,) * len(written), spans=tuple(written))
    return replace(episode(Segment(prompt=(), turns=turns, tokens=tokens)), rubric=tuple(rubric))


def column(name: str, *episodes: Episode) -> list[Any]:
    """A column of a batch, its rows as lists."""
    return flatten(episodes).column(name).tolist()


# All of them


def plain(episodes: Sequence[Episode]) -> dict[str, list[object]]:
    """What the columns say, turn by turn; identities as whatever they are told apart by."""
    told: dict[str, list[object]] = {name: [] for name, one in COLUMNS.items() if one.source == "rollout"}
    width = max(sum(spec.kind == "expect" for spec in one.rubric) for one in episodes)
    for one in episodes:
        expected = [spec for spec in one.rubric if spec.kind == "expect"]
        total = sum(spec.points for spec in expected)
        padding = [0.0] * (width - len(expected))
        told["points_RC"].append([spec.points / total if total else 0.0 for spec in expected] + padding)
        told["passed_R"].append(float(one.score.passed))
        told["total_R"].append(float(one.score.total))
        told["done_R"].append(float(one.end in ("finished", "gave_up", "user_left", "deadline")))
        told["unfinished_R"].append(float(one.end not in ("finished", "user_left", "deadline")))
        told["task_R"].append(one.task.id)
        told["agent_R"].append(one.agent)
        earlier: set[str] = set()
        harm = 0
        stands, goal = "the beginning of " + one.task.id, "nothing"
        first = True
        for segment in one.segments:
            assert segment.tokens is not None
            for place in range(sum(span.kind == "turn" for span in segment.tokens.spans)):
                told["anchor_U"].append(stands)
                if place >= len(segment.turns):
                    told["invalid_U"].append(0.0)
                    told["tools_U"].append(0.0)
                    told["layers_UL"].append([0.0] * 4)
                    told["harm_U"].append(0.0)
                    told["met_UC"].append([0.0] * width)
                    told["open_UC"].append([float(set(s.after) <= earlier) for s in expected] + padding)
                    told["switch_U"].append(float(first))
                    told["goal_U"].append(goal)
                    continue
                now = segment.turns[place]
                stands = now.anchor
                own = [e for e in now.events if not e.call_id.startswith("world_")]
                told["invalid_U"].append(1.0 if not own or any(not e.schema_ok for e in own) else 0.0)
                told["tools_U"].append(float(len([e for e in own if e.error is None and e.duplicate_of is None])))
                told["layers_UL"].append([float(now.components.get(layer, 0)) for layer in LAYERS])
                broken = sum(s.points for s in one.rubric if s.kind == "forbid" and s.id in now.violated)
                told["harm_U"].append(float(broken - harm))
                harm = broken
                told["met_UC"].append([1.0 if spec.id in now.met else 0.0 for spec in expected] + padding)
                told["open_UC"].append([float(s.id in now.met or set(s.after) <= earlier) for s in expected] + padding)
                earlier |= set(now.met)
                switch = False
                for word in ("KEEP", "SWITCH"):
                    head = f"<switch>{word}</switch><subgoal>"
                    if now.text is not None and now.text.startswith(head):
                        goal = now.text.removeprefix(head).split("</subgoal>")[0]
                        switch = word == "SWITCH"
                told["switch_U"].append(float(first or switch))
                told["goal_U"].append(goal)
                first = False
    return told | judged(episodes)


def judged(episodes: Sequence[Episode]) -> dict[str, list[object]]:
    """What the columns say of points won and of verdicts that may be wrong."""
    found: dict[str, list[object]] = {name: [] for name in ("won_UL", "shares_RL", "flip_RK", "chance_RK")}
    width = max(len(one.rubric) for one in episodes)
    for one in episodes:
        expected = [spec for spec in one.rubric if spec.kind == "expect"]
        total = sum(spec.points for spec in expected) or 1
        found["shares_RL"].append([sum(s.points for s in expected if s.layer == at) / total for at in LAYERS])
        turns, padding = list(one.turns), [0.0] * (width - len(one.rubric))
        stands = {*turns[-1].met, *turns[-1].violated} if turns else set[str]()
        found["flip_RK"].append([_flip(spec, counts=spec.id in stands) for spec in one.rubric] + padding)
        found["chance_RK"].append([_chance(one, spec.id) for spec in one.rubric] + padding)
        before = [0] * len(LAYERS)
        for turn_now in turns:
            now = [sum(s.points for s in expected if s.layer == at and s.id in turn_now.met) for at in LAYERS]
            found["won_UL"].append([float(after - earlier) for earlier, after in zip(before, now, strict=True)])
            before = now
        written = [span for segment in one.segments if segment.tokens for span in segment.tokens.spans]
        unanswered = sum(span.kind == "turn" for span in written) - len(turns)
        found["won_UL"] += [[0.0] * len(LAYERS)] * unanswered
    return found


def _flip(spec: CriterionSpec, *, counts: bool) -> float:
    """What the points gain where the verdict turns."""
    wins = {("expect", False), ("forbid", True)}
    return float(spec.points) if (spec.kind, counts) in wins else -float(spec.points)


def _chance(episode: Episode, criterion: str) -> float:
    return Stream.root("verdicts", episode.seed, episode.id).split(criterion).below(2**24) / 2**24


NAMED = {"anchor_U", "task_R", "agent_R", "goal_U"}


@settings(max_examples=60, deadline=None)
@given(given=batches)
def test_each_column_says_what_the_records_say(given: list[Episode]) -> None:
    batch, expected = flatten(given), plain(given)
    assert batch.columns.keys() == expected.keys()
    for name, values in expected.items():
        found = batch.column(name).tolist()
        if name in NAMED:
            pairs = set(zip(found, values, strict=True))
            assert len({number for number, _ in pairs}) == len({value for _, value in pairs}) == len(pairs), name
        else:
            array = batch.column(name)
            assert torch.allclose(array, torch.tensor(values).reshape(array.shape)), name


def test_columns_have_the_types_that_parts_count_on() -> None:
    for name, array in flatten([acted(START, rubric=RUBRICS[1])]).columns.items():
        assert array.dtype == (torch.long if name in NAMED else torch.float32), name


def test_demonstrations_without_episodes_have_no_columns() -> None:
    tokens = acted(START).segments[0].tokens
    assert tokens is not None
    assert flatten_tokens([tokens]).columns == {}


# States


def test_an_anchor_is_of_the_state_before_its_turn() -> None:
    one = acted(replace(START, anchor="a"), replace(START, anchor="b"), START)
    two = acted(replace(START, anchor="b"), replace(START, anchor="a"))
    opening, a, b = column("anchor_U", one)
    assert column("anchor_U", two) == [opening, b]
    assert len({opening, a, b}) == 3
    assert column("anchor_U", replace(one, task=replace(one.task, id="another")))[0] != opening


def test_an_anchor_goes_over_from_one_segment_to_the_next() -> None:
    one = acted(replace(START, anchor="a"))
    both = replace(one, segments=(*one.segments, *one.segments))
    assert column("anchor_U", both) == column("anchor_U", acted(replace(START, anchor="a"), START))


def test_numbers_of_names_are_the_same_in_every_process() -> None:
    # printf 'task\\0storefront/cancel-order/0000' | b2sum -l 64
    assert stable_number("task", "storefront/cancel-order/0000") == 0x07753B9F3098A1A5
    assert stable_number("task", "a") != stable_number("goal", "a")
    assert column("task_R", acted(START)) == [stable_number("task", "nothing/none/0000")]
    assert column("agent_R", acted(START)) == [stable_number("agent", "hand")]


# Ends


@pytest.mark.parametrize("end", [None, *EndReason])
def test_done_is_what_the_world_ended(end: EndReason | None) -> None:
    world = {EndReason.FINISHED, EndReason.GAVE_UP, EndReason.USER_LEFT, EndReason.DEADLINE}
    assert column("done_R", replace(acted(START), end=end)) == [float(end in world)]


# Calls


def test_a_turn_without_a_readable_call_is_invalid_and_so_is_one_with_a_call_that_fits_no_tool() -> None:
    good, bad = event(), event(fits=False)
    turns = [(), (good,), (good, bad), (event(allowed=False),), (event(by_itself=True),)]
    one = acted(*(replace(START, events=events) for events in turns))
    assert column("invalid_U", one) == [1.0, 0.0, 1.0, 0.0, 1.0]


def test_only_distinct_calls_that_were_carried_out_count_as_tools() -> None:
    turns = [
        (event(), event(tool="other")),
        (event(), event(again=True)),
        (event(fits=False), event(allowed=False)),
        (event(by_itself=True),),
    ]
    one = acted(*(replace(START, events=events) for events in turns))
    assert column("tools_U", one) == [2.0, 1.0, 0.0, 0.0]


# Rubrics


def test_expectations_stand_in_the_rubrics_order_padded_to_the_most() -> None:
    one = acted(replace(START, met=("paid",)), replace(START, met=("paid", "found")), rubric=RUBRICS[1])
    two = acted(replace(START, met=("told",)), rubric=(expectation("told", 7),))
    batch = flatten([one, two])
    assert batch.column("met_UC").tolist() == [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]
    assert batch.column("points_RC").tolist() == [pytest.approx([0.4, 0.6]), [1.0, 0.0]]


def test_an_expectation_is_open_once_all_that_it_is_after_were_met_or_where_its_turn_met_them_first() -> None:
    rubric = (
        expectation("looked", 1),
        replace(expectation("wrote", 1), after=("looked",)),
        replace(expectation("told", 1), after=("looked", "wrote", "unheard-of")),
    )
    one = acted(START, replace(START, met=("looked",)), replace(START, met=("wrote", "told")), START, rubric=rubric)
    assert column("open_UC", one) == [[1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]]
    undone = acted(replace(START, met=("looked",)), START, rubric=rubric)
    assert column("open_UC", undone) == [[1, 0, 0], [1, 1, 0]]
    lost = acted(replace(START, met=("looked",)), START, START, unanswered=1, rubric=rubric[:2])
    assert column("open_UC", lost)[-1] == [1, 1]


def test_what_a_turn_was_paid_stands_by_layer() -> None:
    one = acted(replace(START, components={"task": 3, "selection": -2}), START)
    assert column("layers_UL", one) == [[-2.0, 0.0, 0.0, 3.0], [0.0] * 4]


# Subgoals


def test_harm_is_what_prohibitions_take_and_give_back() -> None:
    wrote = CriterionSpec(id="wrote", text="", kind="forbid", points=80, layer="outcome", after=())
    told = replace(wrote, id="told", points=60)
    turns = [replace(START, violated=ids) for ids in ((), ("wrote",), ("wrote", "told"), ("told",), ("told",))]
    assert column("harm_U", acted(*turns, unanswered=1, rubric=[wrote, told])) == [0, 80, 60, -80, 0, 0]


def test_what_expectations_win_stands_by_layer_whatever_an_end_takes() -> None:
    rubric = [replace(expectation("read", 5), layer="selection"), expectation("paid", 85), expectation("told", 10)]
    turns = [replace(START, met=ids) for ids in (("read",), ("read", "paid"), ("read",))]
    batch = flatten([acted(*turns, unanswered=1, rubric=rubric)])
    assert batch.column("won_UL").tolist() == [[5, 0, 0, 0], [0, 0, 85, 0], [0, 0, -85, 0], [0, 0, 0, 0]]
    assert batch.column("shares_RL").tolist() == [pytest.approx([0.05, 0, 0.95, 0])]


def test_a_flip_is_of_the_last_verdict_that_the_world_gave() -> None:
    rubric = [
        expectation("read", 5),
        expectation("paid", 95),
        *(replace(expectation(id, points), kind="forbid") for id, points in (("slip", 20), ("false", 60))),
    ]
    last = replace(START, met=("paid",), violated=("slip",))
    assert column("flip_RK", acted(replace(START, met=("read",)), last, unanswered=1, rubric=rubric)) == [
        [5, -95, 20, -60]
    ]
    assert column("flip_RK", acted(rubric=rubric)) == [[5, 95, -20, -60]]


def test_chances_are_of_the_trajectory_and_the_criterion_and_spread_evenly() -> None:
    rubric = tuple(expectation(f"{number}", 1) for number in range(50))
    one = acted(START, rubric=rubric)
    others = [replace(one, seed=seed, id=f"grpo/{index}/0") for seed in range(2) for index in range(20)]
    chances = torch.tensor([column("chance_RK", other)[0] for other in others])
    assert torch.equal(chances, flatten(others).column("chance_RK")), "a batch's company changes nothing"
    assert torch.equal(
        chances[0], torch.tensor(column("chance_RK", replace(others[0], rubric=rubric[::-1]))[0]).flip(0)
    )
    assert len(set(chances.flatten().tolist())) > 0.99 * chances.numel()
    assert 0 <= chances.min() < 0.01
    assert 0.99 < chances.max() < 1
    # 2,000 even draws have a mean of 0.5 and a share below 0.21 of 0.21, each within five standard deviations.
    assert chances.mean() == pytest.approx(0.5, abs=5 * (1 / 12 / 2000) ** 0.5)
    assert (chances < 0.21).float().mean() == pytest.approx(0.21, abs=5 * (0.21 * 0.79 / 2000) ** 0.5)


def saying(*texts: str | None) -> Episode:
    return acted(*(replace(START, text=text) for text in texts))


def test_the_first_turn_begins_a_subgoal_whatever_it_says_and_later_ones_where_they_switch() -> None:
    texts = [planned(*words) for words in [("KEEP", "a"), ("KEEP", "a"), ("SWITCH", "b"), ("SWITCH", "b")]]
    assert column("switch_U", saying(*texts)) == [1.0, 0.0, 1.0, 1.0]
    a, also_a, b, also_b = column("goal_U", saying(*texts))
    assert a == also_a != b == also_b


@pytest.mark.parametrize("broken", [None, "", "look", planned("STOP", "b"), planned("SWITCH", " "), "<switch>SWITCH"])
def test_a_turn_whose_plan_cannot_be_read_goes_on_with_its_subgoal(broken: str | None) -> None:
    one = saying(planned("SWITCH", "a"), broken, planned("KEEP", "a"))
    assert column("switch_U", one) == [1.0, 0.0, 0.0]
    assert len(set(column("goal_U", one))) == 1


def test_without_the_planner_format_a_trajectory_is_one_segment_without_a_subgoal() -> None:
    one = saying("look", None, "look")
    assert column("switch_U", one) == [1.0, 0.0, 0.0]
    assert column("goal_U", one) == [0, 0, 0]


def test_a_turn_that_was_never_answered_did_nothing_and_stands_where_the_one_before_left_off() -> None:
    told = replace(START, text=planned("SWITCH", "a"), events=(event(),), anchor="z", met=("found",))
    one = acted(told, unanswered=1, rubric=RUBRICS[1])
    for name in ("invalid_U", "tools_U", "switch_U"):
        assert column(name, one)[1] == 0.0, name
    assert column("met_UC", one)[1] == [0.0, 0.0]
    assert column("anchor_U", one)[1] == stable_number("anchor", "z")
    assert column("goal_U", one)[1] == column("goal_U", one)[0]
    assert column("switch_U", acted(unanswered=1)) == [1.0]


@pytest.mark.parametrize("form", ["planner", "planner-qwen"])
def test_the_oracles_episodes_say_their_subgoals_in_tokens_and_columns_alike(form: str) -> None:
    batch = flatten([played(form, place) for place in range(len(shown()))])
    marked = batch.part_T[batch.trained_T]
    assert set(marked.tolist()) == {PARTS.index(kind) for kind in ("switch", "plan", "action")}
    for number in range(len(batch.reward_U)):
        assert ("SWITCH" in text_of(batch, number, "switch", form)) == bool(batch.column("switch_U")[number])
        subgoal = text_of(batch, number, "plan", form).removeprefix("<subgoal>").removesuffix("</subgoal>")
        assert batch.column("goal_U")[number] == stable_number("goal", subgoal)
    assert batch.column("passed_R").tolist() == [1.0] * batch.trajectories
    assert (batch.column("tools_U") == 1).all()
    assert not batch.column("invalid_U").any()


def text_of(batch: TokenBatch, number: int, part: str, form: str) -> str:
    """What one part of a turn says."""
    chosen = (batch.turn_T == number) & (batch.part_T == PARTS.index(part))
    return "".join(codec(form).decode(batch.ids_T[chosen].tolist()))
