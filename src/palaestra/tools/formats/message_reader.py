"""Reads the messages of an episode in order, with the facts that follow from earlier messages."""

from collections.abc import Sequence

import orjson

from palaestra.records import Json, JsonSchema, Message
from palaestra.tools.formats.answers import AnswerReader, is_deep
from palaestra.tools.formats.facts import MessagePlace, ShownPart
from palaestra.tools.formats.handles import Handles
from palaestra.tools.formats.shown import ShownFacts
from palaestra.tools.images import read_text


class MessageReader:
    """Reads the messages of one episode.

    Args:
        handles: The handles of the episode. Default: handles named by the world's words.
    """

    def __init__(self, handles: Handles | None = None) -> None:
        self.shown = ShownFacts(handles=handles or Handles())
        self._answers = AnswerReader(self.shown)
        self._has_answers = False
        self._read = 0

    def learn_opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> None:
        """Record the tools and the names in system messages, before the first message is read."""
        self.shown.learn_tools(tools)
        for message in messages:
            if message["role"] == "system":
                self.shown.learn_briefing(read_text(message))

    def read(self, message: Message) -> list[ShownPart]:
        """The parts of a message; a JSON answer as fields.

        Raises:
            CapabilityError: the message holds images.
        """
        content, role = read_text(message), message["role"]
        self.shown.place = MessagePlace(number=self._read, name=self._place_name(message))
        self._read += 1
        if role != "tool":
            return self.shown.read_text(content, user=role == "user")
        try:
            answer: Json = orjson.loads(content)
        except orjson.JSONDecodeError:
            return self.shown.read_text(content)
        return self.shown.read_text(content) if is_deep(answer) else self._answers.read(answer)

    def _place_name(self, message: Message) -> str:
        role = message["role"]
        if role == "tool":
            self._has_answers = True
            return f"the answer of {message['name']}" if "name" in message else "an earlier answer"
        if role == "user":
            return "a later message of the user" if self._has_answers else "the request"
        return "the briefing" if role == "system" else "an earlier turn"
