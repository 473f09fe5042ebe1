"""The document in a model's answer: without the prose around it, the fences and the thinking."""

import re
from dataclasses import dataclass, fields

from palaestra.envs.blueprints import Blueprint
from palaestra.envs.blueprints.document import MAX_BYTES

MAX_ANSWER = 2 * MAX_BYTES
"""Maximum characters of an answer that are read and kept."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_KEYS = "|".join(field.name for field in fields(Blueprint))
_FIRST = re.compile(rf"^(?:(?:{_KEYS})[ \t]*:|\{{)", re.MULTILINE)
_INSIDE = re.compile(r"[ \t]|[\[\]{}#-]|[\w\"'.-]+[ \t]*:|$")
"""The beginning of a document's line: indented, a list's entry or end, a comment, a key, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """What was found in an answer."""

    text: str
    """The document; empty if there is none."""
    fault: str = ""
    """What is wrong with the rest of the answer; empty for a document alone, or in fences or prose."""


def find_document(answer: str) -> FoundDocument:
    """The document in an answer.

    An answer larger than `MAX_ANSWER` has none, because a partial document does not count.
    """
    if len(answer) > MAX_ANSWER:
        fault = f"the answer has {len(answer)} characters, more than {MAX_ANSWER}; write a smaller document"
        return FoundDocument(text="", fault=fault)
    answer = _THINKING.sub("", answer).replace("\r\n", "\n")
    fences = [(mark.start(), mark.end()) for mark in _FENCE.finditer(answer)]
    if len(fences) % 2:
        text = answer[fences[-1][1] :].strip("\n")
        if _FIRST.search(text):
            fault = "the code fence around the document is not closed, so the answer may be cut off; write less"
            return FoundDocument(text=text, fault=fault)
        fences = fences[:-1]
    blocks = [answer[fences[n][1] : fences[n + 1][0]].strip("\n") for n in range(0, len(fences), 2)]
    documents = [block for block in blocks if _FIRST.search(block)]
    if len(documents) > 1:
        return FoundDocument(text="", fault=f"the answer has {len(documents)} documents; write one whole document")
    text = documents[0] if documents else _without_prose(answer)
    return FoundDocument(text=text, fault="" if text else "the answer has no document; begin with `id: my-world`")


def _without_prose(answer: str) -> str:
    """The lines from the first key of a document to the first line that cannot belong to one."""
    first = _FIRST.search(answer)
    if first is None:
        return ""
    lines = answer[first.start() :].split("\n")
    last = next((n for n, line in enumerate(lines) if not _INSIDE.match(line)), len(lines))
    return "\n".join(lines[:last]).rstrip()
