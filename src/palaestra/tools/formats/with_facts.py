"""A chat format for large models that adds facts to the answers of tools.

Each answer is followed by the facts that the compact format shows beside its values, as a list in plain English (see
`fact_sentences`). Everything else comes from the inner format: its prompt, its calls, its marks.
"""

from collections.abc import Sequence

from palaestra.errors import ConfigError
from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools.formats.fact_sentences import fact_sentences
from palaestra.tools.formats.format import ChatFormat, Mark, ParsedTurn, Rendering
from palaestra.tools.formats.message_reader import MessageReader
from palaestra.tools.images import read_text

SUFFIX = "-facts"
"""The suffix of format names with facts."""


class FactsFormat:
    """An inner chat format, with facts after the answers of tools; see the module's text.

    Args:
        inner: A format that shows answers unchanged.

    Raises:
        ConfigError: the inner format changes answers.
    """

    plain_answers = False

    def __init__(self, inner: ChatFormat) -> None:
        if not inner.plain_answers:
            raise ConfigError(facts_refusal(inner.name))
        self.name = inner.name + SUFFIX
        self.end = inner.end
        self.parts = inner.parts
        self._inner = inner

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        return self._inner.parse(text)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        return self._inner.render(calls, prose)

    def rendering(self) -> "FactsRendering":
        """The rendering of a new episode."""
        return FactsRendering(self._inner.rendering())

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """The marks of the inner format."""
        return self._inner.marks(corpus)


def facts_refusal(name: str) -> str:
    """The message that explains why a format does not support facts."""
    return (
        f"the format {name!r} takes no facts: it shows facts already, hides values, or renders no answers; "
        f"write {name!r} without {SUFFIX!r}, or take a format that shows answers as JSON text, such as qwen{SUFFIX}"
    )


class FactsRendering:
    """One episode in a format with facts.

    Args:
        inner: The rendering of the inner format.
    """

    def __init__(self, inner: Rendering) -> None:
        self._inner = inner
        self._reader = MessageReader()

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The opening of the inner format."""
        self._reader.learn_opening(messages, tools)
        return self._inner.opening(self._with_facts(messages), tools)

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, answers with their facts, and the start of the policy's next turn."""
        return self._inner.following(self._with_facts(messages))

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn of the inner format."""
        return self._inner.write_turn(calls, prose)

    def read(self, pieces: Sequence[str]) -> str:
        """The text that the inner format reads."""
        return self._inner.read(pieces)

    def _with_facts(self, messages: Sequence[Message]) -> list[Message]:
        return [self._with_own(message) for message in messages]

    def _with_own(self, message: Message) -> Message:
        parts = self._reader.read(message)
        facts = fact_sentences(parts, self._reader.shown.place) if message["role"] == "tool" else ""
        return {**message, "content": f"{read_text(message)}\n\n{facts}"} if facts else message
