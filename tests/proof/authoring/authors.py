"""Scripted models that write worlds, and the document that they write."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from palaestra.proof.authoring import Judgement, LeastSize, judge_document
from palaestra.records import Message

_WHOLE = Path("examples/blueprints/tool_library.yaml").read_text(encoding="utf-8")
_OTHERS = _WHOLE[: _WHOLE.index("  which-loan:")] + _WHOLE[_WHOLE.index("  worn-tool:") :]
LIBRARY = (_OTHERS[: _OTHERS.index("  EXT-3:")] + _OTHERS[_OTHERS.index("  ACC-1:") :]).replace(
    "    tools: [get, list member]", "    tools: [get]"
) + "instances: {train: 3, dev: 0, heldout: 0}\n"
"""A document that is proved, with few tasks."""
ABOUT = "The lending desk of a tool library."


def broken(*mistakes: tuple[str, str]) -> str:
    """The document with parts replaced."""
    text = LIBRARY
    for good, bad in mistakes:
        assert good in text, f"the document has no {good!r}"
        text = text.replace(good, bad, 1)
    return text


class ScriptedAuthor:
    """Writes answers from a list, and keeps what it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[list[Message]] = []
        self.seeds: list[int] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        self.asked.append(list(messages))
        self.seeds.append(seed)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class RepairingAuthor:
    """Makes mistakes, and corrects one as soon as the message names it in the words of the checker, and not before.

    Args:
        mistakes: What the document should have, what it has, and the words that name the mistake.
    """

    def __init__(self, *mistakes: tuple[str, str, str]) -> None:
        self._left = list(mistakes)
        self.rounds: list[int] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        del seed
        said = messages[-1]["content"]
        self._left = [one for one in self._left if one[2] not in said]
        self.rounds.append(len(self._left))
        return f"Here is the document:\n\n```yaml\n{broken(*((good, bad) for good, bad, _ in self._left))}```\n"


def judge_here(path: Path, least: LeastSize | None = None, /) -> Judgement:
    """Judge in this process, and each text once."""
    return _judge_text_once(path.read_text(encoding="utf-8"), path, least)


_JUDGED: dict[tuple[str, LeastSize | None], Judgement] = {}


def _judge_text_once(text: str, path: Path, least: LeastSize | None) -> Judgement:
    key = (text, least)
    if key not in _JUDGED:
        _JUDGED[key] = judge_document(path, least)
    return _JUDGED[key]


@cache
def extension() -> str:
    """A proved extension of the document: a request with a rule of its own."""
    return """\
rules:
  quiet_days: {value: 6, instead: [3, 9]}
handbook:
  RET-1:
    title: Early return
    text: >-
      A loan that began less than {rules.quiet_days} days ago is not given back early. The request is declined by this
      section; the record that shows it is the loan.
actions:
  return_loan:
    description: Mark a loan as returned.
    about: loan
    sets: {loan.status: returned}
requests:
  give-back:
    level: 1
    about: loan
    where: loan.status == "active"
    subject: [Giving back]
    says: ["I would like to give back {loan.id} today."]
    refusals:
      - section: RET-1
        when: today - loan.started < rules.quiet_days
        shows: loan
        plant: [{set: loan.started, to: today - rules.quiet_days + 1}]
        tells: I am sorry, {loan.id} began too short a time ago.
    work: [{action: return_loan}]
    tells: Done, {loan.id} is given back.
"""
