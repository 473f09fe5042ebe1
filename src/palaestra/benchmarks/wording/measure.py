"""The measurement: overlap with training, families recognised across the splits, kinds recognised within heldout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaestra.benchmarks.wording.classifiers import Classifier, Example, NaiveBayes, RidgeClassifier, accuracy
from palaestra.benchmarks.wording.kinds import recognise_kind
from palaestra.benchmarks.wording.overlap import closest_overlaps
from palaestra.benchmarks.wording.texts import RequestText, count_words, request_texts
from palaestra.envs import TaskSet
from palaestra.envs.kit import letters_of
from palaestra.errors import CapabilityError
from palaestra.seeding import Stream
from palaestra.table import Table

HALVES = 20
"""Number of random splits of the held-out requests into halves."""
MOST_OVERLAP = 0.5
"""Target: maximum overlap of a held-out body with its nearest training body."""
MOST_FAMILIES = 0.6
"""Target: maximum share of held-out families that a classifier trained on "train" recognises."""
LEAST_KINDS = 0.85
"""Target: minimum share of kinds that a classifier trained on half of "heldout" recognises in the other half."""

_Trainer: TypeAlias = Callable[[Sequence[Example]], Classifier]
_CLASSIFIERS: Mapping[str, _Trainer] = {"ridge on tf-idf": RidgeClassifier, "naive Bayes": NaiveBayes}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingReport:
    """The results; shares are from 0 to 1."""

    trained: Mapping[str, int]
    """Numbers of requests, bodies and words of "train"."""
    held_out: Mapping[str, int]
    """The same numbers of "heldout"."""
    overlap: float
    """The largest Jaccard index of word 3-grams between a held-out and a training body."""
    overlap_with_terms: float
    """The same index, with the desk's terms on the form of an answer counted as part of the body."""
    shared_subjects: int
    """Number of subjects that occur in both splits."""
    families: Mapping[str, float]
    """For each classifier, the share of held-out families that it recognises after training on "train"."""
    kinds: Mapping[str, tuple[float, float]]
    """For each classifier, the mean and the minimum share of recognised kinds, over halves of "heldout"."""


def measure_wordings(
    task_set: TaskSet,
    *,
    trained: Sequence[str],
    held_out: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
) -> WordingReport:
    """Compare the wording of tasks of "heldout" with that of tasks of "train".

    Raises:
        CapabilityError: the world has no separate wording of requests.
    """
    letters = letters_of(task_set.world.draft)
    if not letters:
        raise CapabilityError.of(task_set.world.name, "a measurement of wording", "letters of its own", [])
    before = request_texts(task_set, trained, progress=progress)
    after = request_texts(task_set, held_out, progress=progress)
    topics = [letters[recognise_kind(letters, text.body)].topic for text in after]
    known = [Example(words=text.all_words, label=text.family) for text in before]
    unknown = [Example(words=text.all_words, label=text.family) for text in after]
    asked = [Example(words=text.words, label=topic) for text, topic in zip(after, topics, strict=True)]
    return WordingReport(
        trained=count_words(before),
        held_out=count_words(after),
        overlap=max(closest_overlaps([t.body for t in after], [t.body for t in before])),
        overlap_with_terms=max(closest_overlaps(map(_with_terms, after), map(_with_terms, before))),
        shared_subjects=len({t.subject for t in before} & {t.subject for t in after}),
        families={name: accuracy(train(known), unknown) for name, train in _CLASSIFIERS.items()},
        kinds={name: _across_halves(train, asked) for name, train in _CLASSIFIERS.items()},
    )


def wording_tables(report: WordingReport) -> tuple[Table, ...]:
    """The report as tables."""
    sizes = Table(
        title="Requests",
        columns=("split", "requests", "different bodies", "different words"),
        rows=tuple(
            (name, *(f"{of[key]:,}" for key in ("requests", "bodies", "words")))
            for name, of in (("train", report.trained), ("heldout", report.held_out))
        ),
        note="Ids, numbers and names are masked. A task and its twin share one request, which counts once.",
    )
    rows = [
        ("largest Jaccard index with a training body", _percent(report.overlap), f"at most {_percent(MOST_OVERLAP)}"),
        ("the same, with the desk's terms", _percent(report.overlap_with_terms), f"at most {_percent(MOST_OVERLAP)}"),
        ("subjects of both splits", str(report.shared_subjects), "0"),
        *((f"families named: {name}", _percent(share), f"at most {_percent(MOST_FAMILIES)}")
          for name, share in report.families.items()),
        *((f"kinds named: {name}", f"{_percent(mean)} (least {_percent(least)})", f"at least {_percent(LEAST_KINDS)}")
          for name, (mean, least) in report.kinds.items()),
    ]  # fmt: skip
    found = Table(
        title="Wording of heldout",
        columns=("measure", "found", "aim"),
        rows=tuple(rows),
        note="Families: trained on subjects, bodies and terms of train. Kinds: trained on subjects and bodies of one "
        f"half of heldout, mean and least over {HALVES} random halves.",
    )
    return sizes, found


def _with_terms(text: RequestText) -> tuple[str, ...]:
    return (*text.body, *text.terms)


def _across_halves(train: _Trainer, examples: Sequence[Example]) -> tuple[float, float]:
    shares: list[float] = []
    for number in range(HALVES):
        order = Stream.root("wording-halves", number).permutation(examples)
        middle = len(order) // 2
        shares.append(accuracy(train(order[:middle]), order[middle:]))
    return sum(shares) / len(shares), min(shares)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
