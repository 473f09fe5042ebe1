"""The imitators: their parts against what must hold of them, and what they do in a family of the Storefront."""

import pytest

from palaestra.benchmarks.learnability import measure_learnability
from palaestra.benchmarks.learnability.case import Candidate, Case
from palaestra.benchmarks.learnability.choices import CandidateFacts, ChoiceExample, learn_choice
from palaestra.benchmarks.learnability.reading import join_pieces, read_records
from palaestra.benchmarks.learnability.trees import TreeFeatures, grow
from palaestra.benchmarks.learnability.turns import abstract
from palaestra.tools import Mark


def known(*has: str, **numbers: float) -> TreeFeatures:
    return TreeFeatures(has=frozenset(has), numbers=numbers)


def test_a_tree_takes_the_feature_that_tells_the_labels_apart() -> None:
    examples = [known("f:a", "f:b"), known("f:a"), known("f:b"), known()]
    tree = grow(examples, ["yes", "yes", "no", "no"], limits=frozenset())
    assert [tree.decide(one) for one in (known("f:a"), known("f:b", "f:c"))] == ["yes", "no"]


def test_a_tree_takes_a_number_that_a_text_names_as_the_limit() -> None:
    examples = [known(days=20), known(days=40)]
    named = grow(examples, ["open", "closed"], limits=frozenset({30.0}))
    middle = grow(examples, ["open", "closed"], limits=frozenset())
    assert [named.decide(known(days=30)), named.decide(known(days=31))] == ["open", "closed"]
    assert {tree.test.limit for tree in middle.trees if tree.test is not None} == {30}


def test_trees_that_know_nothing_of_what_tells_the_labels_apart_do_not_vote() -> None:
    forest = grow([known("f:a"), known(), known()], ["yes", "no", "no"], limits=frozenset())
    assert all(tree.test is not None for tree in forest.trees)
    assert forest.decide(known("f:a")) == "yes"


def test_labels_that_no_feature_tells_apart_are_decided_by_the_majority() -> None:
    assert grow([known("f:a")] * 3, ["x", "y", "y"], limits=frozenset()).decide(known()) == "y"


def test_a_choice_keeps_what_was_chosen_in_every_example() -> None:
    def described(number: int, *has: str) -> CandidateFacts:
        return CandidateFacts(candidate=Candidate(sort="handle", text=f"<line.{number}>"), has=frozenset(has))

    examples = [
        ChoiceExample(among=(described(0, "first"), described(1, "asked")), right=described(1).candidate),
        ChoiceExample(among=(described(0, "first", "asked"), described(1)), right=described(0).candidate),
    ]
    rule = learn_choice(examples)
    assert rule.wrong == 0
    assert rule.choose((described(0, "first"), described(1), described(2, "asked"))) == described(2).candidate
    assert rule.choose(()) is None


def test_a_rendered_answer_is_read_as_records() -> None:
    pieces = [
        *("order=(id=", Mark("<order.0>"), " status=shipped) lines=[id=", Mark("<line.0>")),
        *(" name=Umbra (AM4) =asked; id=", Mark("<line.1>"), " placed=", Mark("<date.1>"), " 12d ago #1] n=3"),
    ]
    root, order, first, second = read_records(join_pieces(pieces))
    assert (root.path, order.path, first.path, second.path) == ("", "order", "lines", "lines")
    assert order.fields["id"].marks == ("<order.0>",)
    assert order.fields["status"].text == "shipped"
    assert first.fields["name"].text == "Umbra (AM4)"
    assert "=asked" in first.fields["name"].words
    assert second.fields["placed"].days == -12
    assert "#1" in second.fields["placed"].words
    assert root.fields["n"].numbers == ("3",)


def test_a_turn_is_a_call_with_values_and_back() -> None:
    case = Case()
    written = ["pay id=", Mark("<order.0>"), " n=12 all=[", Mark("<cpu.0>"), ",", Mark("<cpu.1>"), '] note="It is ',
               Mark("<amount.0>"), '."']  # fmt: skip
    turn = abstract(written, case)
    assert turn.shape == "pay id n all note"
    assert [one.text for one in turn.chosen] == ["<order.0>", "12", "<cpu.0>", "<cpu.1>", "<amount.0>"]
    assert "".join(turn.pieces()) == "".join(written)


@pytest.mark.parametrize("family", ["cancel-order"])
def test_an_imitator_solves_the_other_half_of_a_family_and_of_its_twin(family: str) -> None:
    (found,) = measure_learnability("palaestra/Storefront-v0", families=[family])
    assert (found.demonstrations, len(found.played)) == (17, 17)
    assert found.failed == ()
