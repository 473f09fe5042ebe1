"""Two text classifiers, implemented here: multinomial naive Bayes, and ridge regression on tf-idf.

Both use words and ignore their order. Ridge regression is better with few examples.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text and its label."""

    words: tuple[str, ...]
    label: str


class Classifier(Protocol):
    """Predicts the label of a text."""

    def classify(self, words: Sequence[str]) -> str:
        """The likeliest label."""
        ...


class NaiveBayes:
    """Multinomial naive Bayes with additive smoothing (Manning, Raghavan and Schütze 2008, chapter 13).

    Args:
        examples: The training examples.
        smoothing: The number added to every count.

    Raises:
        ValueError: there are no examples.
    """

    def __init__(self, examples: Sequence[Example], *, smoothing: float = 0.1) -> None:
        if not examples:
            raise ValueError("examples: there is none; give at least one")
        counts: dict[str, Counter[str]] = {}
        for example in examples:
            counts.setdefault(example.label, Counter()).update(example.words)
        known = {word for example in examples for word in example.words}
        labels = Counter(example.label for example in examples)
        self._known = known
        self._prior = {label: math.log(labels[label] / len(examples)) for label in sorted(labels)}
        self._word = {
            label: {
                word: math.log((own[word] + smoothing) / (own.total() + smoothing * len(known)))
                for word in sorted(known)
            }
            for label, own in counts.items()
        }

    def classify(self, words: Sequence[str]) -> str:
        """The label with the highest posterior; unknown words do not count."""
        seen = [word for word in words if word in self._known]
        return max(self._prior, key=lambda label: self._prior[label] + sum(self._word[label][w] for w in seen))


class RidgeClassifier:
    """One linear function of tf-idf for each label, fitted to +1 and -1 by ridge regression in closed form.

    Args:
        examples: The training examples.
        penalty: The penalty on the squares of the weights.

    Raises:
        ValueError: there are no examples.
    """

    def __init__(self, examples: Sequence[Example], *, penalty: float = 0.1) -> None:
        if not examples:
            raise ValueError("examples: there is none; give at least one")
        found = Counter(word for example in examples for word in set(example.words))
        self._column = {word: number for number, word in enumerate(sorted(found))}
        self._idf = np.array([math.log((1 + len(examples)) / (1 + found[word])) + 1 for word in sorted(found)])
        self._labels = sorted({example.label for example in examples})
        # Shapes: texts x words, and texts x labels.
        texts = np.array([self._vector(example.words) for example in examples])
        signs = np.array([[1.0 if example.label == label else -1.0 for label in self._labels] for example in examples])
        self._mean: NDArray[np.float64] = signs.mean(axis=0)
        # The dual form, because there are fewer texts than words.
        gram = texts @ texts.T + penalty * np.eye(len(examples))
        self._weights: NDArray[np.float64] = texts.T @ np.linalg.solve(gram, signs - self._mean)

    def classify(self, words: Sequence[str]) -> str:
        """The label with the highest value; unknown words do not count."""
        scores = self._vector(words) @ self._weights + self._mean
        return self._labels[int(np.argmax(scores))]

    def _vector(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Logarithmic counts times inverse document frequency, normalised to length 1."""
        vector = np.zeros(len(self._column))
        for word, count in Counter(words).items():
            if word in self._column:
                vector[self._column[word]] = 1 + math.log(count)
        vector *= self._idf
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else vector


def accuracy(classifier: Classifier, examples: Sequence[Example]) -> float:
    """The share of examples with the right label; `nan` without examples."""
    if not examples:
        return math.nan
    return sum(classifier.classify(example.words) == example.label for example in examples) / len(examples)
