"""What the replies of a blueprint's world promise: its own sentences, held against how the case ended.

A sentence that grants is false where the case was refused, and one that refuses where it was resolved. Only sentences
of the document are known: another paraphrase passes.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.records import Row
from palaestra.rubrics.messages import Promise
from palaestra.rubrics.messages.sentences import sentences

_PART = re.compile(r"\{[^{}]*\}")
_APOLOGY = re.compile(r"^I am sorry,? ?")
_VALUE = "\0"
"""Stands for an expression of a template."""
_ANY_VALUE = "[^.;!?]*(?:[.][0-9][^.;!?]*)?"
"""What an expression of a template may become: an id, a day, a name or an amount."""
FEWEST_WORDS = 3
"""A sentence of fewer words of its own may be part of any reply; a value counts as one of them."""


def blueprint_promises(blueprint: Blueprint, cases: str) -> tuple[Promise, ...]:
    """The sentences of a blueprint's replies, by what they say of the case.

    Args:
        blueprint: The blueprint.
        cases: The table of its cases.
    """
    requests = blueprint.requests.values()
    refusals = [one for spec in requests for one in spec.refusals]
    granting = _patterns(spec.tells for spec in requests)
    handing = _patterns(one.tells for one in refusals if one.team)
    declining = _patterns(one.tells for one in refusals if not one.team)
    found = (
        _denial("that the case is refused", granting - handing - declining, cases, ("declined", "escalated")),
        _denial("that the request is granted", declining - granting, cases, ("resolved",)),
        _denial("that the desk decided itself", handing - granting - declining, cases, ("resolved", "declined")),
    )
    return tuple(one for one in found if one is not None)


def _denial(name: str, patterns: Iterable[str], cases: str, ends: tuple[str, ...]) -> Promise | None:
    """Sentences that are false once the case has ended in one of these ways; `None` where there are none."""
    if not (joined := "|".join(sorted(patterns))):
        return None
    denies = re.compile(rf"(?:{joined})(?=[.!;]|$)", re.IGNORECASE)
    return Promise(name=name, denies=denies, whole=True, rows={cases: _make_check(ends)})


def _make_check(ends: tuple[str, ...]) -> Callable[[Row | None, Row], bool]:
    def holds(_before: Row | None, after: Row) -> bool:
        return getattr(after, "status", None) in ends

    return holds


def _patterns(templates: Iterable[str]) -> frozenset[str]:
    return frozenset(pattern for text in templates for pattern in _decisive_sentence(text))


def _decisive_sentence(template: str) -> Iterator[str]:
    """A pattern of the first sentence of a template that says enough, if there is one."""
    for sentence in sentences(_PART.sub(_VALUE, template)):
        words = _APOLOGY.sub("", sentence).rstrip(".!").split()
        own = sum(_VALUE not in word for word in words)
        if own >= FEWEST_WORDS or (own == FEWEST_WORDS - 1 < len(words)):
            yield r"\s+".join(
                re.escape(word).replace(re.escape(_VALUE), "[^.;!?]*(?:[.][0-9][^.;!?]*)?") for word in words
            )
            return
