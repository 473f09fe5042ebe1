"""The imitators: their parts against what must hold of them, and what they do in a family of the Storefront."""

import pytest

from palaestra.benchmarks.learnability import measure_learnability
from palaestra.benchmarks.learnability.case import Case
from palaestra.benchmarks.learnability.choices import CandidateFacts, ChoiceExample, learn_choice
from palaestra.benchmarks.learnability.memory import Candidate
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


def test_a_limit_that_the_examples_reach_counts_with_or_without_them_as_they_say() -> None:
    examples = [known(days=-20), known(days=-10)]
    forest = grow(examples, ["lost", "late"], limits=frozenset({10.0}))
    assert [forest.decide(known(days=days)) for days in (-11, -10)] == ["lost", "late"]


def test_of_equally_good_features_a_tree_takes_the_one_that_tells_near_misses_apart() -> None:
    alike = [f"f:same {n}" for n in range(9)]
    examples = [
        *(known("f:in stock", "f:chance", *alike), known("f:chance", *alike), known("f:in stock")),
        *(known(), known("f:in stock", "f:b chance"), known("f:b chance")),
    ]
    labels = ["yes" if "f:in stock" in one.has else "no" for one in examples]
    forest = grow(examples, labels, limits=frozenset())
    assert forest.trees[0].test is not None
    assert forest.trees[0].test.name == "f:in stock"


def test_trees_that_err_more_on_the_examples_than_the_tree_that_knows_all_do_not_vote() -> None:
    examples = [known(f"f:{n}", *(["f:right"] if n % 2 else [])) for n in range(12)]
    labels = ["yes" if n % 2 else "no" for n in range(12)]
    forest = grow(examples, labels, limits=frozenset())
    for tree in forest.trees:
        assert [tree.decide(one) for one in examples] == labels


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


def test_a_choice_is_made_by_relations_before_facts_that_fit_as_well() -> None:
    def described(number: int, *has: str) -> CandidateFacts:
        return CandidateFacts(candidate=Candidate(sort="handle", text=f"<order.{number}>"), has=frozenset(has))

    listed = [described(n, "in orders", f"order={n}", "orders with tier=gold") for n in range(4)]
    chosen = [described(n, "in orders", "chosen", f"order={n}") for n in range(2)]
    examples = [
        ChoiceExample(among=(described(9, "in (user)"), *chosen[:1], *listed[1:]), right=listed[1].candidate),
        ChoiceExample(among=(described(9, "in (user)"), *chosen, *listed[2:]), right=listed[2].candidate),
    ]
    rule = learn_choice(examples)
    assert rule.wrong == 0
    following = [described(n, "in orders", *(["chosen"] if n < 3 else []), f"order={n}") for n in range(5)]
    assert rule.choose((described(9, "in (user)"), *following)) == following[3].candidate


def read_answers(*answers: tuple[str, list[str]]) -> Case:
    """A case that has read the answers of calls; each is a tool and what it answered, in pieces."""
    case = Case()
    for tool, pieces in answers:
        case.write(tool, tool, (), {})
        case.read([Mark("<|tool|>"), *pieces, Mark("<|assistant|>")])
    return case


@pytest.mark.parametrize(("stock", "short"), [("1", True), ("2", False)])
def test_numbers_of_records_are_compared_where_one_names_the_other(stock: str, short: bool) -> None:
    case = read_answers(
        ("get_order", ["lines=[id=", Mark("<line.0>"), " product_id=", Mark("<product.0>"), " quantity=2]"]),
        ("get_product", ["id=", Mark("<product.0>"), " name=Umbra", f" stock={stock}"]),
    )
    has = case.moment({}).has
    assert ("j:some get_product..stock under get_order.lines.quantity" in has) is short


def test_a_day_is_compared_with_each_of_the_days_that_a_text_names() -> None:
    case = read_answers(
        ("read", ["id=A body=Delivered from ", Mark("<date.1>"), " 27d ago to ", Mark("<date.2>"), " 15d ago."]),
        ("get", ["id=", Mark("<shipment.0>"), " delivered=", Mark("<date.3>"), " 20d ago over ", Mark("<date.1>"),
                 " under ", Mark("<date.2>")]),
    )  # fmt: skip
    has = case.moment({}).has
    assert {"l:get..delivered over read..body 0", "l:get..delivered under read..body 1"} <= has
    assert not {"l:get..delivered over read..body 1", "l:get..delivered under read..body 0"} & has


def test_a_field_that_a_call_named_is_left_out_of_what_follows_in_a_record() -> None:
    build = [" cpu_id=", Mark("<cpu.0>"), " memory_id=", Mark("<mem.0>"), " psu_id=", Mark("<psu.0>")]
    case = read_answers(("get_build", ["id=", Mark("<build.0>"), *build]))
    case.write("search", "search", (), {"category": "memory"})
    before = {"parts": Candidate(sort="handle", text="<cpu.0>")}
    features = {
        kind: case.describe(Candidate(sort="handle", text=f"<{kind}.0>"), "check", before) for kind in ("mem", "psu")
    }
    assert "follows in the record" in features["mem"]
    assert "follows in the record, named fields apart" in features["psu"]
    assert "in a field that category named" in features["mem"]


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


def test_the_halves_may_be_exchanged() -> None:
    (found,) = measure_learnability("palaestra/Storefront-v0", families=["find-store-credit"], odd=True)
    assert {int(task[-1]) % 2 for task in found.played} == {0}
    assert found.failed == ()
