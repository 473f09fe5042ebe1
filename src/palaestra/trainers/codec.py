"""Conversion between text and tokens: a tokenizer and its chat format.

Each piece of a prompt is tokenised once, when it is appended. A mark becomes its single token. Text never becomes a
mark, even if it spells one.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

from palaestra.errors import CheckpointError
from palaestra.tools import ChatFormat, Mark
from palaestra.trajectory import Span

_SENTENCE = re.compile(r"[^.\n;:=\"\]]{12,}[.;:]")
# Terms that compare values (` =asked`, ` #2`, ` 5k+`, `d ago`): one token each; in `12d ago` the number is separate.
_COMPARISON = r" =asked| #\d+| -?\d+[kM]?\+|(?<=\d)(?:d|mo)(?: ago)?\b| [+-]\d+(?=d\b|mo\b)"
# Fields of a record (` status=`), names of tools, codes (` RET-1`), words, digits, and anything else.
_WORD = r" ?[A-Za-z_]+=[(\[]*| ?[A-Z]{2,5}-\d+|[a-z]+(?:_[a-z]+)+| ?[^\W\d_]+| ?\d+| ?[^\w\s]+|\s+"
_RECURRING = 20
"""The least number of occurrences that makes a sentence a unit, such as a rule in 20 demonstrations of a family."""


def train_tokenizer(corpus: Sequence[Sequence[str]], form: ChatFormat, *, size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer of at most `size` tokens on rendered episodes.

    Args:
        corpus: Rendered episodes: pieces of text and marks.
        form: The chat format of the episodes, whose marks become tokens.
        size: The maximum number of tokens, marks and the 256 bytes included.
    """
    marks = form.marks(corpus)
    texts = [piece for pieces in corpus for piece in pieces if not isinstance(piece, Mark)]
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_units(texts)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=list(map(str, marks)),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=str(form.end), clean_up_tokenization_spaces=False
    )


def _units(texts: Sequence[str]) -> str:
    """A pattern for units that merges may not cross: words, and sentences that recur word for word.

    With it, a handbook costs one token per sentence, while the words of a name stay separate tokens.
    """
    counts = Counter(sentence for text in texts for sentence in _SENTENCE.findall(text))
    recurring = [sentence for sentence, count in counts.items() if count >= _RECURRING]
    longest_first = sorted(recurring, key=lambda sentence: (-len(sentence), sentence))
    return "|".join([*map(re.escape, longest_first), _COMPARISON, _WORD])


class Codec:
    """A tokenizer for one chat format.

    Args:
        tokenizer: Any fast tokenizer of transformers.
        form: The chat format; its end mark must be a token.

    Raises:
        CheckpointError: the tokenizer lacks the format's end mark.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, form: ChatFormat) -> None:
        self.format = form
        self.tokenizer = tokenizer
        self._backend: Tokenizer = tokenizer.backend_tokenizer
        added = {token.content: number for number, token in self._backend.get_added_tokens_decoder().items()}
        self._mark_ids = added
        self._marks = {number: Mark(content) for content, number in added.items()}
        self._spelt = re.compile("|".join(map(re.escape, sorted(added, key=len, reverse=True))) or r"\Z\A")
        if form.end not in added:
            raise CheckpointError(
                f"the tokenizer has no token {form.end!r}, which ends a turn in the {form.name} format; "
                "use the tokenizer and the format that the checkpoint was trained with"
            )
        self.end_id = added[form.end]
        self._encoded = lru_cache(maxsize=100_000)(self._encode_text)

    def encode(self, pieces: Iterable[str]) -> list[int]:
        """The tokens of `pieces`."""
        ids: list[int] = []
        for piece in pieces:
            number = self._mark_ids.get(piece) if isinstance(piece, Mark) else None
            if number is None:
                ids += self._encoded(piece)
            else:
                ids.append(number)
        return ids

    def _encode_text(self, text: str) -> tuple[int, ...]:
        """The tokens of plain text; spelled-out marks are cut after the first character, so none becomes a mark."""
        ids: list[int] = []
        at = 0
        while found := self._spelt.search(text, at):
            ids += self._backend.encode(text[at : found.start() + 1], add_special_tokens=False).ids
            at = found.start() + 1
        return (*ids, *self._backend.encode(text[at:], add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> list[str]:
        """The pieces that `ids` encode: marks and runs of text."""
        pieces: list[str] = []
        run: list[int] = []
        for number in ids:
            mark = self._marks.get(number)
            if mark is None:
                run.append(number)
                continue
            if run:
                pieces.append(self._backend.decode(run, skip_special_tokens=False))
                run = []
            pieces.append(mark)
        if run:
            pieces.append(self._backend.decode(run, skip_special_tokens=False))
        return pieces

    def turn(self, ids: Sequence[int], *, start: int) -> list[Span]:
        """The spans of a turn that begins at `start`, and of the parts that the format's tags mark.

        A part includes its tags; the last part also includes the end mark. A turn that lacks a tag has no parts.
        """
        parts = self._by_marks(ids) if self._tagged else self._by_text(ids)
        bounds = zip(self.format.parts, parts, strict=True) if parts else ()
        return [
            Span(kind="turn", start=start, end=start + len(ids)),
            *(Span(kind=part.kind, start=start + low, end=start + high) for part, (low, high) in bounds),
        ]

    @property
    def _tagged(self) -> bool:
        """Whether each tag is a token; the tokenizer of an external model may lack these tokens."""
        return all(part.opens in self._mark_ids and part.closes in self._mark_ids for part in self.format.parts)

    def _by_marks(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The beginning and end of each part, if tags are tokens."""
        bounds: list[tuple[int, int]] = []
        at = 0
        try:
            for part in self.format.parts:
                low = ids.index(self._mark_ids[part.opens], at)
                at = ids.index(self._mark_ids[part.closes], low) + 1
                bounds.append((low, at))
        except ValueError:
            return []
        return [*bounds[:-1], (bounds[-1][0], len(ids))] if bounds else []

    def _by_text(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The beginning and end of each part, if tags are text; a token with text of two parts belongs to the first."""
        text = "".join(self.decode(ids))
        bounds: list[tuple[int, int]] = []
        at = reached = 0
        for part in self.format.parts:
            low = text.find(part.opens, at)
            at = text.find(part.closes, low) + len(part.closes)
            if low < 0 or at < len(part.closes):
                return []
            first = self._tokens_of(text[: low + 1], ids) - 1
            bounds.append((max(first, reached), reached := self._tokens_of(text[:at], ids)))
        return [*bounds[:-1], (bounds[-1][0], len(ids))]

    def _tokens_of(self, beginning: str, ids: Sequence[int]) -> int:
        """The least number of `ids` whose text has this beginning."""

        def reaches(count: int) -> int:
            return "".join(self.decode(ids[:count])).startswith(beginning)

        return bisect_left(range(len(ids)), 1, key=reaches)
