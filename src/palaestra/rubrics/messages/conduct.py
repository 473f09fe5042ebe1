"""Conduct: what a careful colleague never writes: insults, raw records, repetition, empty words."""

import re
from functools import lru_cache

from palaestra.records import ToolEvent, Verdict
from palaestra.rubrics.criterion import UNMET, Criterion
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.messages.figures import figures_in
from palaestra.rubrics.messages.rules import MessageRules
from palaestra.rubrics.messages.sentences import sentences

MISCONDUCT = 40

_INSULTS = re.compile(
    r"\b(?:idiots?|idiotic|fools?|stupid|morons?|imbeciles?|dumb(?:ass)?|dimwits?|shut up|liars?|you lie|pathetic|"
    r"losers?|bastards?|bitch|crap|damn you|go to hell|screw you|fuck\w*|shit\w*|assholes?|piss off|get lost|"
    r"drop dead|go away|a pain|crooks?|thie(?:f|ves)|scammers?|worthless|"
    r"wast(?:e|ing) (?:of )?(?:my|our) time|stop (?:whining|bothering)|nobody (?:likes|cares about) you|"
    r"your own fault)\b",
    re.IGNORECASE,
)
_RAW = re.compile(r'"\w+":\s|\b\w+_(?:id|cents)\b["\s]*[:=]')
_RAW_FIELDS = 3
"""From this many fields in a program's notation on, a text is a raw record."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_SAME_SENTENCES = 3
"""A sentence that occurs this often in one text is repetition."""


def forbid_misconduct(rules: MessageRules) -> Criterion:
    """Forbid messages that insult, repeat themselves, hold raw records, or say nothing."""

    def check(evidence: Evidence) -> Verdict:
        *before, event = evidence.events
        for text in rules.texts(event):
            if (fault := _fault(text)) is not None:
                return Verdict(met=True, reason=fault)
        alike = [e for e in before if e.tool == event.tool and e.executed]
        if alike and _normalise(rules, event) in [_normalise(rules, e) for e in alike]:
            return Verdict(met=True, reason="says the same again, word for word")
        return UNMET

    return Criterion(
        id="misconduct",
        text="Wrote an insult, a raw record, the same again, or nothing that has a meaning.",
        check=check,
        kind="forbid",
        points=MISCONDUCT,
        layer="task",
        about="event",
        tools=frozenset(rules.prose),
    )


@lru_cache(maxsize=2_048)
def _fault(text: str) -> str | None:
    if found := _INSULTS.search(text):
        return f"insults: {found[0]!r}"
    if len(_RAW.findall(text)) >= _RAW_FIELDS:
        return "holds a raw record"
    if _WORD.search(text) is None and not figures_in(text):
        return f"says nothing: {text[:40]!r}"
    said = [sentence.casefold() for sentence in sentences(text)]
    if any(said.count(sentence) >= _SAME_SENTENCES for sentence in set(said)):
        return "repeats a sentence"
    return None


def _normalise(rules: MessageRules, event: ToolEvent) -> tuple[object, ...]:
    """The content and recipient of a message, without case and white space."""
    prose = rules.prose.get(event.tool, frozenset())
    texts = tuple(" ".join(text.casefold().split()) for text in rules.texts(event))
    rest = sorted((n, repr(v)) for n, v in event.arguments.items() if n not in prose and n not in ("act", "about"))
    return texts, tuple(rest)
