"""Requests as lists of words, with ids, numbers and names masked."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from palaestra.envs import Instance, TaskSet
from palaestra.envs.variation import names_in_calls, names_in_records

MASK = "#"
"""The replacement of an id, a number, an e-mail address or a name."""
_FACT = re.compile(r"\S+@\S+|[\w-]*\d[\w-]*")
_WORD = re.compile(rf"{MASK}|[^\W\d_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestText:
    """One request, in lower-case words; a task and its refusal twin share it."""

    task: str
    """The id of the task, never of a twin."""
    family: str
    """The name of the family."""
    subject: tuple[str, ...]
    body: tuple[str, ...]
    """The requester's text, without the desk's terms, which are paragraphs in parentheses."""
    terms: tuple[str, ...]
    """The desk's terms on the form of an answer; most requests have none."""

    @property
    def words(self) -> tuple[str, ...]:
        """Subject and body."""
        return (*self.subject, *self.body)

    @property
    def all_words(self) -> tuple[str, ...]:
        """Subject, body and terms."""
        return (*self.words, *self.terms)


def request_texts(
    task_set: TaskSet, tasks: Iterable[str], *, progress: Callable[[str], None] = lambda _: None
) -> list[RequestText]:
    """The requests of tasks; twins are left out, because they repeat the request of their sibling."""
    by_seed: dict[int, frozenset[str]] = {}
    texts: list[RequestText] = []
    for task in tasks:
        progress(task)
        if task_set.family_of(task).twin_of is not None:
            continue
        instance = task_set.instance(task)
        seed = instance.spec.world_seed
        if seed not in by_seed:
            by_seed[seed] = frozenset(names_in_records(instance.initial_state))
        texts.append(_text_of(instance, by_seed[seed]))
    return texts


def _text_of(instance: Instance, names: frozenset[str]) -> RequestText:
    content = next(message["content"] for message in instance.messages if message["role"] == "user")
    envelope, _, rest = content.partition("\n\n")
    subject = envelope.partition(": ")[2]
    # A whole subject is not a name, although other tickets of the world may have the same subject.
    present = [name for name in names.union(names_in_calls(instance.oracle)) - {subject} if name in content]
    paragraphs = rest.split("\n\n")
    body = [paragraph for paragraph in paragraphs if not paragraph.startswith("(")]
    terms = [paragraph for paragraph in paragraphs if paragraph.startswith("(")]

    def split(text: str) -> tuple[str, ...]:
        return words_of(text, present)

    return RequestText(
        task=instance.spec.id,
        family=instance.spec.family.partition("/")[2],
        subject=split(subject),
        body=split("\n".join(body)),
        terms=split("\n".join(terms)),
    )


def words_of(text: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """The words of a text in lower case, with a mask for each name, id, number and e-mail address."""
    for name in sorted(names, key=lambda name: (-len(name), name)):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", f" {MASK} ", text)
    return tuple(_WORD.findall(_FACT.sub(f" {MASK} ", text).lower()))


def count_words(texts: Sequence[RequestText]) -> Mapping[str, int]:
    """Count requests, different masked bodies, and different words."""
    return {
        "requests": len(texts),
        "bodies": len({text.body for text in texts}),
        "words": len({word for text in texts for word in text.body}),
    }
