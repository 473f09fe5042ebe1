"""The ways to word a request, each a row of styles that are applied one after the other."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from palaestra.envs.wording.casual import casual
from palaestra.envs.wording.formal import formal
from palaestra.envs.wording.rambling import rambling
from palaestra.envs.wording.typos import typos
from palaestra.seeding import Stream

Style: TypeAlias = Callable[[list[str], Stream], list[str]]
"""Paragraphs in which private characters stand for facts, and a stream to draw from, to paragraphs."""

WORDINGS: Mapping[str, tuple[Style, ...]] = {
    "formal": (formal,),
    "casual": (casual,),
    "verbose": (rambling,),
    "typos": (typos,),
    "garbled": (rambling, casual, typos),
}
"""What `wording=` can be."""
