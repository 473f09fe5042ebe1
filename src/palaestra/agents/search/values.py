"""Value functions of branches, which read only messages."""

import re
from collections.abc import Sequence

from palaestra.protocols import ChatModel
from palaestra.records import Message

_WORD = re.compile(r"[\w@.-]{3,}")
_SCORE = re.compile(r"\d+(?:\.\d+)?")
_QUESTION = (
    "Read the transcript of an agent at work. Judge how effective its last action was and how promising the situation "
    "is for what was asked. Answer with one number from 0 (hopeless) to 10 (done)."
)
_MOST = 10.0


class RequestCoverage:
    """The share of the request's words and ids that tools have shown; it knows no rule and no record.

    Showing the subject of the request counts; work on it does not.
    """

    def __call__(self, messages: Sequence[Message], *, seed: int) -> float:
        """The share, between 0 and 1; 0 without a request."""
        del seed
        request = next((one for one in messages if one["role"] == "user"), None)  # what follows may be a page
        asked: set[str] = set() if request is None else _words(request)
        shown = {word for one in messages if one["role"] == "tool" for word in _words(one)}
        return len(asked & shown) / len(asked) if asked else 0.0


def _words(message: Message) -> set[str]:
    return {word.strip(".-").lower() for word in _WORD.findall(message["content"])}


class ChatValue:
    """A language model's estimate for a branch.

    Args:
        model: The model.
        most: Maximum characters of the transcript that it reads, from the end.
    """

    def __init__(self, model: ChatModel, *, most: int = 12_000) -> None:
        self._model = model
        self._most = most

    def __call__(self, messages: Sequence[Message], *, seed: int) -> float:
        """A tenth of the model's score.

        Raises:
            ValueError: the model's answer has no number from 0 to 10.
        """
        text = "\n".join(f"[{one.get('name', one['role'])}] {one['content']}" for one in messages)[-self._most :]
        asked: list[Message] = [{"role": "system", "content": _QUESTION}, {"role": "user", "content": text}]
        answer = self._model.complete(asked, seed=seed)
        found = _SCORE.search(answer)
        if found is None or float(found[0]) > _MOST:
            raise ValueError(f"a branch was valued at {answer[:80]!r}; ask a model that answers a number from 0 to 10")
        return float(found[0]) / _MOST
