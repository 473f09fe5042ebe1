from palaestra.rubrics import expect_call, expect_message, expect_question, expect_user_message
from palaestra.rubrics.rubric import LOOKUPS, TOTAL
from worlds.bench import BenchFactory


def test_asked_wants_the_truth_and_not_the_question(bench: BenchFactory) -> None:
    desk = bench(expect_question("order"), expect_call("work", layer="outcome"))
    assert desk.call("reply", acts=("ask:order",), said=("mistake:order",)) == 0
    assert desk.call("reply", acts=("confirm:order",), said=("correct:order",)) == LOOKUPS


def test_what_was_heard_counts_for_work_of_a_later_turn_only(bench: BenchFactory) -> None:
    desk = bench(expect_user_message("accept:fee", id="agreed"), expect_call("work", layer="outcome", after=["agreed"]))
    assert desk.call("reply", said=("accept:fee",)) == LOOKUPS
    assert desk.call("work") == TOTAL - LOOKUPS


def test_another_answer_is_not_the_one_that_was_hoped_for(bench: BenchFactory) -> None:
    desk = bench(expect_user_message("accept:fee", id="agreed"), expect_call("work", layer="outcome"))
    assert desk.call("reply", said=("change:keep",)) == 0


def test_a_message_counts_by_what_was_understood(bench: BenchFactory) -> None:
    desk = bench(expect_message("inform:fee", id="told"), expect_call("work"))
    assert desk.call("reply", acts=("inform:order",)) == 0
    assert desk.call("reply", acts=("apologise", "inform:fee")) > 0


def test_a_kind_alone_stands_for_any_topic(bench: BenchFactory) -> None:
    assert bench(expect_message("refuse", id="told"), expect_call("work")).call("reply", acts=("refuse:fee",)) > 0


def test_said_too_early_it_is_not_made_good_by_saying_it_again(bench: BenchFactory) -> None:
    desk = bench(expect_call("look", id="looked"), expect_message("inform:fee", id="told", after=["looked"]))
    assert desk.call("reply", acts=("inform:fee",)) == 0
    assert desk.call("look") > 0
    assert desk.call("reply", acts=("inform:fee",)) == 0
