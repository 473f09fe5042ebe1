"""Wordings of what an agent writes, each with the dialogue acts that a careful reader hears in it.

The labels are data in `wordings/`, described in its README. This module reads them and states when a reading agrees.
It does not run the recogniser.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from palaestra.envs.user.acts import kind_of, topic_of

Half: TypeAlias = Literal["dev", "heldout"]
Consent: TypeAlias = Literal["yes", "open", "no"]

FOLDER = Path(__file__).parent / "wordings"
_ALL: tuple[Half, ...] = ("dev", "heldout")
HALVES: tuple[Half, ...] = tuple(half for half in _ALL if (FOLDER / f"{half}.jsonl").exists())
"""The halves at hand: between two held-out halves there is only the one for development."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActLabel:
    """One act: its kind and the topics that are right for it."""

    kind: str
    topics: tuple[str, ...]
    """The best topic first, then equal ones; "" is an act about nothing in particular. Empty for any topic or none."""

    def is_met_by(self, act: str) -> bool:
        """Whether an act, written "ask:order", is this one."""
        return kind_of(act) == self.kind and (not self.topics or topic_of(act) in self.topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One message of an agent and what it means."""

    id: str
    world: str
    """The world whose topics apply."""
    text: str
    acts: tuple[ActLabel, ...]
    """What the message does, in order; empty for small talk and for what no customer would answer."""
    may: tuple[ActLabel, ...] = ()
    """What a reader may hear besides."""
    consent: Consent = "no"
    """Whether a "yes" in answer may count as consent to a fee; "open" where a fee is named without its amount."""
    hostile: bool = False
    """Whether it was written to mislead, or to obtain a "yes" without saying to what."""

    def missing_acts(self, heard: Sequence[str]) -> tuple[ActLabel, ...]:
        """The acts of the message that a reading lacks."""
        return tuple(label for label in self.acts if not any(label.is_met_by(act) for act in heard))

    def wrong_acts(self, heard: Sequence[str]) -> tuple[str, ...]:
        """The acts of a reading that the message neither does nor may do."""
        return tuple(act for act in heard if not any(label.is_met_by(act) for label in (*self.acts, *self.may)))

    def is_read_right(self, heard: Sequence[str]) -> bool:
        """Whether a reading has every act of the message and none that it does not do."""
        return not self.missing_acts(heard) and not self.wrong_acts(heard)


def read_wordings(half: Half) -> tuple[Wording, ...]:
    """All wordings of one half, in the order of the file."""
    lines = (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_parse(json.loads(line)) for line in lines)


def _parse(line: dict[str, Any]) -> Wording:
    acts, may = (tuple(_label(one) for one in line.pop(name, ())) for name in ("acts", "may"))
    return Wording(**line, acts=acts, may=may)


def _label(written: Sequence[str]) -> ActLabel:
    kind, *topics = written
    return ActLabel(kind=kind, topics=tuple(topics))
