"""Requests in held-out words: letters that are composed of independent parts, around one sentence that asks.

A kind of request states what any wording of it must say (its facts) and several ways to ask. What stands around that
(greeting, history, background, a second wish that asks for nothing, closing) is drawn from parts that state no fact and
ask for nothing that a desk could do. A part that breaks this rule for facts is refused when the kind is made.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from palaestra.envs.wording.styles import Style
from palaestra.envs.wording.typos import typos
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A requester's message."""

    subject: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A way of writing to the desk: what stands around a request."""

    language: str = "en"
    greetings: tuple[str, ...]
    histories: tuple[str, ...]
    """Sentences about something else; none asks for anything."""
    closings: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    """Subjects in its language; none: it writes those of its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the requests of one group of people."""

    subjects: tuple[str, ...]
    """Subjects that fit every request, so that none tells which one it is."""
    voices: tuple[tuple[Voice, int], ...]
    """Voices with their weights."""
    asides: tuple[str, ...]
    """Second wishes that are settled already, or that ask for nothing."""

    def draw_voice(self, stream: Stream) -> Voice:
        """The voice of one letter: its subject, its greeting and its closing are of the same one."""
        return stream.split("voice").weighted_choice(self.voices)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterKind:
    """One kind of request, in words that no other split has.

    Raises:
        ValueError: a way to ask leaves out a fact or names another one, or a background names one.
    """

    topic: str
    """The group of kinds that it belongs to, such as "cancel"."""
    around: Surroundings
    facts: frozenset[str] = frozenset()
    """The names of what every wording must state, such as "order"."""
    wishes: tuple[str, ...]
    """Ways to ask, each with every fact in braces."""
    reasons: tuple[str, ...]
    """Backgrounds; they state no fact."""
    summaries: tuple[str, ...]
    """The request in a few words, said once more; they state no fact."""
    foreign_wishes: Mapping[str, str] = field(default_factory=dict[str, str])
    """By language, a way to ask for those who write in it: partly in English, with every fact."""
    foreign_reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """By language, a background for those who write in it."""

    def __post_init__(self) -> None:
        asked = ((text, self.facts) for text in (*self.wishes, *self.foreign_wishes.values()))
        told = ((text, frozenset[str]()) for text in (*self.reasons, *self.summaries, *self.foreign_reasons.values()))
        for text, wanted in (*asked, *told):
            if slots_of(text) != wanted:
                raise ValueError(f"{text!r}: names {sorted(slots_of(text))}; name {sorted(wanted)}, each in braces")


def slots_of(text: str) -> frozenset[str]:
    """The names in braces."""
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name is not None)


_AMERICAN = {
    "parcel": "package", "parcels": "packages", "cancelled": "canceled", "favour": "favor", "apologise": "apologize",
    "neighbour": "neighbor", "neighbours": "neighbors", "realise": "realize", "realised": "realized", "mum": "mom",
    "whilst": "while", "flat": "apartment", "colour": "color", "coloured": "colored", "fortnight": "two weeks",
    "organised": "organized", "programme": "program", "honour": "honor", "learnt": "learned", "autumn": "fall",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z]+")
# Private characters stand for facts while a style is applied: no style touches them.
_FIRST_HOLD = 0xE000
_TYPO_PERCENT = 8
_SUMMARY_PERCENT = 60
_HISTORY_PERCENT = 30
_ASIDE_PERCENT = 20


def compose_subject(kind: LetterKind, stream: Stream) -> str:
    """A subject that does not tell what is asked, in the language of the body that `compose_body` makes of `stream`."""
    voice = kind.around.draw_voice(stream)
    return stream.split("subject").choice(voice.subjects or kind.around.subjects)


def compose_body(kind: LetterKind, facts: Mapping[str, str | Sequence[str]], stream: Stream) -> str:
    """The text of a letter of this kind.

    Args:
        kind: What is asked.
        facts: What it must say, by name; where several texts say the same, one of them is drawn.
        stream: Draws the parts and the style.

    Raises:
        ValueError: the facts are not those of the kind.
    """
    if frozenset(facts) != kind.facts:
        raise ValueError(f"facts {sorted(facts)}: this kind of request states {sorted(kind.facts)}; give these")
    said = {name: value if isinstance(value, str) else stream.choice(value) for name, value in facts.items()}
    holds = {name: chr(_FIRST_HOLD + number) for number, name in enumerate(said)}
    paragraphs = [part.format(**holds) for part in _parts(kind, stream)]
    for style in _styles(stream):
        paragraphs = style(paragraphs, stream)
    body = "\n\n".join(paragraphs)
    for name, hold in holds.items():
        body = body.replace(hold, said[name])
    return body


def _parts(kind: LetterKind, stream: Stream) -> list[str]:
    """The paragraphs of a letter, with facts in braces."""
    voice = kind.around.draw_voice(stream)
    own = voice.language
    wish, reason = stream.choice(kind.wishes), [stream.choice(kind.reasons)] if stream.chance(75) else []
    if own in kind.foreign_wishes and stream.chance(50):
        wish = kind.foreign_wishes[own]
    if own in kind.foreign_reasons and stream.chance(60):
        reason = [kind.foreign_reasons[own]]
    summary = [stream.choice(kind.summaries)] if stream.chance(_SUMMARY_PERCENT) else []
    history = [stream.choice(voice.histories)] if stream.chance(_HISTORY_PERCENT) else []
    aside = [stream.choice(kind.around.asides)] if stream.chance(_ASIDE_PERCENT) else []
    greeting, closing = stream.choice(voice.greetings), stream.choice(voice.closings)
    match stream.below(4):
        case 0:
            return [" ".join([greeting, *history, wish, *reason, *summary, *aside]), closing]
        case 1:
            return [" ".join([greeting, *history]), " ".join([wish, *reason, *summary]), " ".join([*aside, closing])]
        case 2:
            return [greeting, " ".join([*reason, wish, *summary]), " ".join([*history, *aside, closing])]
        case _:
            return [greeting, " ".join([wish, *reason, *summary, *aside]), *history, closing]


def _styles(stream: Stream) -> list[Style]:
    styles: list[Style] = []
    if stream.chance(40):
        styles.append(_american)
    if stream.chance(20):
        styles.append(_lower_case)
    if stream.chance(25):
        styles.append(_hasty)
    return styles


def _american(paragraphs: list[str], _stream: Stream) -> list[str]:
    def spell(found: re.Match[str]) -> str:
        word = _AMERICAN.get(found[0].lower())
        if word is None:
            return found[0]
        return word.capitalize() if found[0][0].isupper() else word

    return [_WORD.sub(spell, paragraph) for paragraph in paragraphs]


def _lower_case(paragraphs: list[str], _stream: Stream) -> list[str]:
    return [paragraph.lower() for paragraph in paragraphs]


def _hasty(paragraphs: list[str], stream: Stream) -> list[str]:
    return typos(paragraphs, stream, percent=_TYPO_PERCENT)
