"""Variants of the oracle's work: wrong ones that differ in one way, right ones that differ in none that counts."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import SPLITS, ToolEnv
from palaestra.proof import MUTANT_KINDS, ROUTE_KINDS
from palaestra.proof.arguments import leaf_paths, places
from palaestra.proof.equivalence import net, right_after_all
from palaestra.proof.mutants import mutants
from palaestra.proof.mutants.extra import FAR, NEAR
from palaestra.proof.routes import EXTRA_READS, PARAPHRASES, routes
from palaestra.proof.trial import ENDINGS, Trial
from palaestra.proof.variants import SolutionVariant, format_call, insert_calls, move_call, replace_call
from palaestra.records import ToolCall

A, B, C, X = (ToolCall(tool=name, arguments={}) for name in "abcx")
CALLS = (A, B, C)


def make() -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def trial(task: str) -> Trial:
    return Trial(make(), task)


@cache
def tasks() -> tuple[str, ...]:
    """The first instance of every family."""
    found = make().task_set
    ids = [task for split in SPLITS for task in found.ids(split)]
    return tuple({task.rpartition("/")[0]: task for task in reversed(ids)}.values())


@cache
def wrong(task: str) -> tuple[SolutionVariant, ...]:
    return tuple(mutants(trial(task)))


@cache
def right(task: str) -> tuple[SolutionVariant, ...]:
    return tuple(routes(trial(task)))


def of_kind(kind: str) -> Iterator[tuple[Trial, SolutionVariant]]:
    for task in tasks():
        for variant in (*wrong(task), *right(task)):
            if variant.kind == kind:
                yield trial(task), variant


def calls_of(variant: SolutionVariant) -> list[ToolCall]:
    return [call for turn in variant.turns for call in turn]


def as_words(calls: list[ToolCall] | tuple[ToolCall, ...]) -> Counter[str]:
    return Counter(map(format_call, calls))


# Lists of calls


def test_replacing_takes_none_or_several_for_one() -> None:
    assert replace_call(CALLS, 1) == [A, C]
    assert replace_call(CALLS, 1, X) == [A, X, C]
    assert replace_call(CALLS, 0, X, X) == [X, X, B, C]


def test_inserting_puts_before_a_position() -> None:
    assert insert_calls(CALLS, 0, X) == [X, A, B, C]
    assert insert_calls(CALLS, 3, X, A) == [A, B, C, X, A]


@pytest.mark.parametrize("origin", range(3))
@pytest.mark.parametrize("target", range(3))
def test_moving_lands_at_the_target_and_keeps_the_others_in_order(origin: int, target: int) -> None:
    calls = move_call(CALLS, origin, target)
    assert calls[target] is CALLS[origin]
    assert [c for c in calls if c is not CALLS[origin]] == [c for c in CALLS if c is not CALLS[origin]]


def test_a_call_is_written_as_it_would_be_typed() -> None:
    assert format_call(ToolCall(tool="f", arguments={"a": "x", "n": 1})) == "f(a='x', n=1)"


# All of them


# Only the generic surface names columns.
@pytest.mark.parametrize("kind", [*MUTANT_KINDS, *(kind for kind in ROUTE_KINDS if kind != "named columns")])
def test_every_kind_is_made_for_some_family(kind: str) -> None:
    assert next(of_kind(kind), None) is not None


def test_the_same_variants_are_made_each_time() -> None:
    for task in tasks()[::4]:
        again = Trial(make(), task)
        assert tuple(mutants(again)) == wrong(task)
        assert tuple(routes(again)) == right(task)


def test_no_variant_is_the_oracles_own_work_turn_by_turn() -> None:
    for task in tasks():
        own = tuple((call,) for call in trial(task).calls)
        assert [v for v in (*wrong(task), *right(task)) if v.turns == own] == []


def test_no_mutant_is_also_a_route_but_where_a_program_says_so() -> None:
    for task in tasks():
        of, accepted = trial(task), [v.turns for v in right(task)]
        both = [v for v in wrong(task) if v.turns in accepted]
        assert [v.what for v in both if right_after_all(of, of.play(v.turns)) is None] == []


def test_wrong_and_right_work_end_as_the_oracle_ends_but_where_the_end_is_what_differs() -> None:
    for task in tasks():
        for variant in (*wrong(task), *right(task)):
            assert variant.kind == "ending" or calls_of(variant)[-1].tool == "finish", variant.what


def test_no_two_mutants_of_a_task_make_the_same_calls() -> None:
    for task in tasks():
        turns = [repr(variant.turns) for variant in wrong(task)]
        assert len(set(turns)) == len(turns)


# Wrong work


def test_a_dropped_call_is_one_that_was_needed() -> None:
    for of, variant in of_kind("dropped"):
        gone = as_words(of.calls) - as_words(calls_of(variant))
        # Several, where each of them shows the same fact.
        assert gone
        assert variant.what.startswith("without ")
        assert all(name in variant.what for name in gone)
        assert not any(name.startswith(tuple(ENDINGS)) for name in gone)


def test_every_write_of_the_oracle_is_dropped_once() -> None:
    for task in tasks():
        writes = {format_call(s.call) for s in trial(task).steps if s.event.written}
        assert {f"without {w}" for w in writes} <= {v.what for v in wrong(task) if v.kind == "dropped"}


def test_a_changed_argument_is_one_that_no_id_and_no_prose_is() -> None:
    for of, variant in of_kind("argument"):
        pairs = [(a, b) for a, b in zip(of.calls, calls_of(variant), strict=True) if a != b]
        [(before, after)] = pairs
        tool = of.instance.world.toolbox[before.tool]
        [name] = [n for n in before.arguments if before.arguments[n] != after.arguments[n]]
        assert name not in tool.references
        assert name not in tool.prose
        assert tool.fits(after.arguments)


@pytest.mark.parametrize("kind", ["entity", "reason", "neighbour"])
def test_another_row_is_one_of_the_same_table_that_is_there(kind: str) -> None:
    for of, variant in of_kind(kind):
        [(before, after)] = [(a, b) for a, b in zip(of.calls, calls_of(variant), strict=True) if a != b]
        [name] = [n for n in before.arguments if before.arguments[n] != after.arguments[n]]
        table = of.instance.world.toolbox[before.tool].references[name]
        assert str(after.arguments[name]) in of.directory.ids(table)


def test_an_extra_write_does_something_that_the_oracle_did_not() -> None:
    for task in tasks():
        of, made = trial(task), [v for v in wrong(task) if v.kind == "extra"]
        forbids = [c for c in of.instance.rubric.criteria if c.kind == "forbid"]
        assert 2 <= len(made) <= NEAR + FAR + len(forbids)
        for variant in made:
            outcome = of.play(variant.turns)
            assert right_after_all(of, outcome) is None  # what was taken back again was still done
            assert as_words(calls_of(variant)) >= as_words(of.calls)


def test_extra_writes_break_every_guard_of_a_family_within_a_few_tasks() -> None:
    for family in ("refund-damaged-item", "cancel-order", "decline-late-return"):
        broken: set[str] = set()
        for index in range(4):
            of = trial(f"storefront/{family}/{index:04}")
            for variant in wrong(of.instance.spec.id):
                if variant.kind == "extra":
                    broken |= of.play(variant.turns).counting
        assert {f"collateral-{name}" for name in trial(tasks()[0]).instance.world.guards} <= broken


def test_an_undone_write_is_followed_by_what_undoes_it() -> None:
    for of, variant in of_kind("undone"):
        assert len(calls_of(variant)) == len(of.calls) + 1
        assert ", then " in variant.what
        assert net(of.play(variant.turns).changes) != net(of.outcome.changes)


def test_an_order_that_breaks_policy_makes_the_same_calls() -> None:
    for of, variant in of_kind("order"):
        assert as_words(calls_of(variant)) == as_words(of.calls)
        assert calls_of(variant) != list(of.calls) or len(variant.turns) < len(of.calls)


def test_reasons_are_ids_that_a_write_names_and_leaves_alone() -> None:
    for of, variant in of_kind("reason"):
        [position] = [n for n, (a, b) in enumerate(zip(of.calls, calls_of(variant), strict=True)) if a != b]
        before, changed_rows = of.calls[position], {c.key for c in of.steps[position].changes}
        [name] = [n for n in before.arguments if before.arguments[n] != calls_of(variant)[position].arguments[n]]
        assert before.arguments[name] not in changed_rows
        assert changed_rows & set(of.steps[position].event.named)


def test_a_neighbour_shares_a_reference_with_the_right_row() -> None:
    for of, variant in of_kind("neighbour"):
        [(before, after)] = [(a, b) for a, b in zip(of.calls, calls_of(variant), strict=True) if a != b]
        [name] = [n for n in before.arguments if before.arguments[n] != after.arguments[n]]
        table = of.directory.table_of(str(before.arguments[name]))
        assert table is not None
        info = of.instance.world.schema[table]
        rows = [of.instance.initial_state.get(info.kind, str(call.arguments[name])) for call in (before, after)]
        assert any(getattr(rows[0], c) == getattr(rows[1], c) is not None for c in info.references)


def test_swapped_values_are_the_same_values_elsewhere() -> None:
    for of, variant in of_kind("swapped"):
        mine = sorted(repr(leaf) for call in calls_of(variant) for _, leaf in leaf_paths(call.arguments))
        assert mine == sorted(repr(leaf) for call in of.calls for _, leaf in leaf_paths(call.arguments))
        assert calls_of(variant) != list(of.calls)


def test_a_repeated_write_stands_twice_in_the_work() -> None:
    for of, variant in of_kind("repeated"):
        [(again, count)] = (as_words(calls_of(variant)) - as_words(of.calls)).items()
        assert count == 1
        assert again in {format_call(step.call) for step in of.steps if step.changes}


def test_a_claimed_write_is_a_message_in_its_place() -> None:
    for of, variant in of_kind("claimed"):
        [(before, after)] = [(a, b) for a, b in zip(of.calls, calls_of(variant), strict=True) if a != b]
        assert of.toolbox[before.tool].writes
        assert after.tool == of.toolbox.prose_tool


def test_truncated_work_is_a_beginning_and_the_end() -> None:
    for of, variant in of_kind("truncated"):
        *beginning, end = calls_of(variant)
        assert tuple(beginning) == of.calls[: len(beginning)]
        assert end == of.calls[-1]
        assert len(beginning) < len(of.calls) - 1


def test_no_other_ending_is_the_oracles() -> None:
    for of, variant in of_kind("ending"):
        outcome = of.play(variant.turns)
        oracle = of.outcome
        assert (outcome.end, outcome.answer, outcome.events) != (oracle.end, oracle.answer, oracle.events)


# On another surface


def test_mutants_reach_into_nested_arguments() -> None:
    env = gym.make("palaestra/Storefront-v0", surface="generic").unwrapped
    assert isinstance(env, ToolEnv)
    of = Trial(env, "storefront/cancel-order/0000")
    made = list(mutants(of))
    deep = [v for v in made if v.kind in ("entity", "argument", "reason") and "." in v.what.partition(" in ")[0]]
    assert deep
    assert {v.kind for v in made} >= {"dropped", "entity", "extra", "repeated", "claimed", "truncated", "ending"}
    for variant in made:
        for call in calls_of(variant):
            assert call.tool in of.toolbox
            for place in places(call, of.toolbox[call.tool], of.directory):
                assert place.table is None or isinstance(place.value, str | None), place


# Right work


def test_reordered_work_is_two_neighbours_swapped() -> None:
    for of, variant in of_kind("reordered"):
        differing = [n for n, (a, b) in enumerate(zip(of.calls, calls_of(variant), strict=True)) if a != b]
        assert len(differing) == 2
        assert differing[1] == differing[0] + 1


def test_extra_reads_write_nothing_and_are_made_for_every_task() -> None:
    for task in tasks():
        of, made = trial(task), [v for v in right(task) if v.kind == "extra read"]
        assert len(made) >= EXTRA_READS + 1
        for variant in made:
            [extra] = as_words(calls_of(variant)) - as_words(of.calls)
            tried = of.play(variant.turns).events
            assert all(
                e.error for e in tried if of.tool(e.tool).writes and extra.startswith(f"{e.tool}(") and not e.written
            )
            assert net(of.play(variant.turns).changes) == net(of.outcome.changes)


def test_other_words_change_prose_and_nothing_else() -> None:
    for of, variant in of_kind("paraphrased"):
        for before, after in zip(of.calls, calls_of(variant), strict=True):
            prose = of.instance.world.toolbox[before.tool].prose
            for name, value in before.arguments.items():
                assert after.arguments[name] == value or (
                    name in prose and str(after.arguments[name]).startswith(PARAPHRASES)
                )


def test_batched_work_makes_the_oracles_calls_in_order_in_fewer_turns() -> None:
    for of, variant in of_kind("batched"):
        assert calls_of(variant) == list(of.calls)
        assert len(variant.turns) < len(of.calls)


def test_batched_work_uses_nothing_that_its_own_turn_shows() -> None:
    for of, variant in of_kind("batched"):
        toolbox = of.instance.world.toolbox
        for turn in variant.turns:
            looks = [not toolbox[c.tool].writes and c.tool not in {*ENDINGS, "reply"} for c in turn]
            assert looks == sorted(looks), "nothing but look-ups stands behind a look-up"


# Playing


def test_a_variant_plays_alike_from_the_start_and_from_where_it_departs() -> None:
    of = trial("storefront/refund-damaged-item/0000")
    for variant in wrong("storefront/refund-damaged-item/0000"):
        if all(len(turn) == 1 for turn in variant.turns):
            assert of.vary(variant.turns) == of.play(variant.turns)


def test_playing_variants_leaves_the_oracles_own_run_as_it_was() -> None:
    task = "storefront/cancel-order/0000"
    of = Trial(make(), task)
    for variant in (*wrong(task), *right(task)):
        of.play(variant.turns)
    assert of.play(tuple((call,) for call in of.calls)) == of.outcome == Trial(make(), task).outcome
