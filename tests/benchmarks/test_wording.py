"""The measurement of wording: its parts against closed forms, and what it finds in the Storefront."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks.wording import (
    NaiveBayes,
    RidgeClassifier,
    WordingReport,
    accuracy,
    closest_overlaps,
    jaccard,
    measure_wordings,
    recognise_kind,
    shingles,
    wording_tables,
)
from palaestra.benchmarks.wording.classifiers import Example
from palaestra.benchmarks.wording.measure import LEAST_KINDS, MOST_FAMILIES, MOST_OVERLAP
from palaestra.benchmarks.wording.texts import words_of
from palaestra.envs import bundled_tasks, open_world
from palaestra.envs.worlds.storefront.letters import LETTERS
from palaestra.errors import CapabilityError
from worlds.library import LIBRARY

# The report reads every task of the Storefront, which one process makes once for these and other tests.
pytestmark = pytest.mark.xdist_group("storefront")

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


def example(text: str, label: str) -> Example:
    return Example(words=tuple(text.split()), label=label)


@cache
def report() -> WordingReport:
    tasks = bundled_tasks(open_world("storefront"))
    return measure_wordings(tasks, trained=tasks.candidates("train"), held_out=tasks.candidates("heldout"))


# overlap


@given(one=WORDS, other=WORDS)
def test_the_jaccard_index_is_symmetric_from_0_to_1_and_1_for_equal_texts(
    one: Sequence[str], other: Sequence[str]
) -> None:
    index = jaccard(shingles(one), shingles(other))
    assert index == jaccard(shingles(other), shingles(one))
    assert 0 <= index <= 1
    assert jaccard(shingles(one), shingles(one)) == 1


def test_the_jaccard_index_of_three_words_in_common_is_their_share_of_runs() -> None:
    # a b c, b c d against a b c, b c e: one run in common of three.
    assert jaccard(shingles(["a", "b", "c", "d"]), shingles(["a", "b", "c", "e"])) == pytest.approx(1 / 3)
    assert closest_overlaps([["a", "b", "c", "d"]], [["x", "y", "z"], ["a", "b", "c", "d"]]) == [1.0]
    assert closest_overlaps([["a", "b", "c"]], []) == [0.0]


# masks


def test_ids_numbers_addresses_and_names_are_masked() -> None:
    text = "Order ORD-1042 of Ada Roth (ada@inbox.example) costs 12.50; it isn't due on 2026-01-02."
    assert words_of(text, ["Ada Roth"]) == (
        "order",
        "#",
        "of",
        "#",
        "#",
        "costs",
        "#",
        "#",
        "it",
        "isn't",
        "due",
        "on",
        "#",
    )


# classifiers


def test_naive_bayes_follows_bayes_rule() -> None:
    # Priors 2/3 and 1/3. With smoothing 1 and two known words, P(x|p) = 4/6, P(x|q) = 1/3.
    learnt = [example("x x", "p"), example("x y", "p"), example("y", "q")]
    made = NaiveBayes(learnt, smoothing=1)
    assert made.classify(["x"]) == "p"
    # y: 2/3 * 2/6 = 2/9 against 1/3 * 2/3 = 2/9: a tie, which goes to the first; y y: 2/27 against 4/27.
    assert made.classify(["y", "y"]) == "q"
    assert made.classify(["unseen"]) == "p"


def test_ridge_regression_agrees_with_the_normal_equations() -> None:
    learnt = [example("x y z", "p"), example("x x w", "q"), example("w v", "r"), example("y v v", "p")]
    made = RidgeClassifier(learnt, penalty=0.3)
    texts = np.array([made._vector(e.words) for e in learnt])
    signs = np.array([[1.0 if e.label == label else -1.0 for label in "pqr"] for e in learnt])
    normal = texts.T @ texts + 0.3 * np.eye(texts.shape[1])
    # The weights solve the normal equations.
    assert np.allclose(normal @ made._weights, texts.T @ (signs - signs.mean(axis=0)))
    assert all(np.linalg.norm(row) == pytest.approx(1) for row in texts)


@pytest.mark.parametrize("kind", [NaiveBayes, RidgeClassifier])
def test_a_classifier_learns_words_that_tell_labels_apart_and_needs_examples(
    kind: type[NaiveBayes] | type[RidgeClassifier],
) -> None:
    learnt = [example(f"the {word} of {number}", word) for word in ("cat", "dog") for number in "abc"]
    assert accuracy(kind(learnt), [example("of the cat", "cat"), example("of the dog", "dog")]) == 1
    assert math.isnan(accuracy(kind(learnt), []))
    with pytest.raises(ValueError, match="examples: there is none"):
        kind([])


def test_the_kind_of_a_text_is_that_of_the_wish_in_it() -> None:
    text = "Hello, I hope that you are well. Could you set up a return for the lamp that was part of X? Thanks"
    assert recognise_kind(LETTERS, words_of(text, ["lamp"])) == "send-back"


# the Storefront


@pytest.mark.unmeasured
def test_no_held_out_body_is_near_to_a_training_body() -> None:
    assert report().overlap <= MOST_OVERLAP / 2
    assert report().overlap_with_terms <= 0.55  # 53.4 % were measured: the aim, for bodies without these terms, is 50 %
    assert report().shared_subjects == 0
    assert report().held_out["bodies"] == report().held_out["requests"]


@pytest.mark.unmeasured
def test_what_is_learnt_of_families_in_training_does_not_name_those_of_heldout() -> None:
    assert set(report().families) == {"ridge on tf-idf", "naive Bayes"}
    assert all(share <= MOST_FAMILIES for share in report().families.values())


@pytest.mark.unmeasured
def test_half_of_heldout_teaches_the_kinds_of_the_other_half() -> None:
    assert report().kinds["ridge on tf-idf"][1] >= LEAST_KINDS
    assert report().kinds["naive Bayes"][0] >= 0.8  # below the aim: it goes by single words alone


@pytest.mark.unmeasured
def test_the_tables_say_what_was_found_and_what_is_aimed_at() -> None:
    sizes, found = wording_tables(report())
    assert [row[0] for row in sizes.rows] == ["train", "heldout"]
    assert all(row[2] for row in found.rows)
    assert len(found.rows) == 3 + len(report().families) + len(report().kinds)


def test_a_world_that_words_nothing_apart_cannot_be_measured() -> None:
    with pytest.raises(CapabilityError, match="letters of its own"):
        measure_wordings(bundled_tasks(LIBRARY), trained=(), held_out=())
