"""The planner format: a turn states whether its subgoal continues, names the subgoal, and acts on it.

    <switch>SWITCH</switch><subgoal>look up order</subgoal><action>get_order order_id=ORD-1042</action>

Any chat format is used inside `<action>`. The prompt shows the current subgoal before each turn, `None` before the
first; a policy continues it by writing KEEP and copying it. The tags are marks, so that no text in the prompt can
imitate one. This is the form of HiPER's hierarchical policies (arXiv 2602.16165).
"""

from collections.abc import Sequence

from palaestra.record import record
from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools.formats.format import ChatFormat, Mark, ParsedTurn, TurnPart
from palaestra.tools.formats.subgoals import subgoal_of
from palaestra.tools.wire import glimpse

KEEP, SWITCH = "KEEP", "SWITCH"
_PARTS = (
    TurnPart(kind="switch", opens=Mark("<switch>"), closes=Mark("</switch>")),
    TurnPart(kind="plan", opens=Mark("<subgoal>"), closes=Mark("</subgoal>")),
    TurnPart(kind="action", opens=Mark("<action>"), closes=Mark("</action>")),
)
_GUIDE = (
    "Write each turn as <switch>KEEP or SWITCH</switch><subgoal>...</subgoal><action>...</action>, in this order. "
    "SWITCH begins a new subgoal, which you name in a few words; KEEP goes on with the current one, which you copy "
    "word for word. Function calls, and what you say to the user, stand inside <action>."
)
_RULE = "a turn is <switch>KEEP or SWITCH</switch><subgoal>...</subgoal><action>...</action>, in this order"


@record
class PlannedTurn:
    """The parts of a turn in the planner format."""

    switches: bool
    """Whether the turn begins a new subgoal."""
    subgoal: str
    action: str
    """The text inside `<action>`."""


def read_plan(text: str) -> PlannedTurn:
    """Parse the plan of a turn; its action is not parsed.

    Raises:
        ValueError: a tag is missing, the switch is neither KEEP nor SWITCH, or the subgoal is empty.
    """
    switch, subgoal, action = _contents(text)
    if switch not in (KEEP, SWITCH):
        raise ValueError(f"the switch is {KEEP} or {SWITCH}; there is {glimpse(switch)}")
    if not subgoal:
        raise ValueError("the subgoal is empty; name in a few words what this turn works towards")
    return PlannedTurn(switches=switch == SWITCH, subgoal=subgoal, action=action)


def _contents(text: str) -> list[str]:
    """The content of each part; the last part may contain text like its closing tag."""
    contents: list[str] = []
    rest = text.strip()
    for part in _PARTS:
        if not rest.startswith(part.opens):
            raise ValueError(f"{_RULE}; in place of {part.opens} there is {glimpse(rest[:30]) if rest else 'nothing'}")
        inside, closing, after = rest.rpartition(part.closes) if part is _PARTS[-1] else rest.partition(part.closes)
        if not closing:
            raise ValueError(f"{_RULE}; {part.opens} is never closed by {part.closes}")
        contents.append(inside[len(part.opens) :].strip())
        rest = after.lstrip()
    if rest:
        raise ValueError(f"{_RULE}; behind {_PARTS[-1].closes} there is {glimpse(rest[:30])}")
    return contents


class PlannerFormat:
    """A switch, a subgoal, and a turn of another format; see the module's text.

    Args:
        inner: The chat format inside `<action>` and of all messages.
        name: The name of the format in `gymnasium.make`.
        guided: Whether the prompt explains the form, for policies that were not trained in it from the start.
    """

    parts: tuple[TurnPart, ...] = _PARTS

    def __init__(self, inner: ChatFormat, *, name: str, guided: bool = False) -> None:
        self.name = name
        self.end = inner.end
        self.plain_answers = inner.plain_answers
        self._inner = inner
        self._guided = guided

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn; without a readable plan it is unreadable, whatever its action."""
        try:
            return self._inner.parse(read_plan(text).action)
        except ValueError as error:
            return ParsedTurn(error=str(error))

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn on its own, which begins a subgoal."""
        return "".join(_wrap([self._inner.render(calls, prose)], SWITCH, subgoal_of(calls)))

    def rendering(self) -> "PlannerRendering":
        """The rendering of a new episode, without a subgoal."""
        return PlannerRendering(self._inner, guided=self._guided)

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """The marks of the inner format, and the tags."""
        return [*self._inner.marks(corpus), *(mark for part in _PARTS for mark in (part.opens, part.closes))]


class PlannerRendering:
    """One episode in the planner format, with the subgoal of the last readable turn."""

    def __init__(self, inner: ChatFormat, *, guided: bool) -> None:
        self._inner = inner.rendering()
        self._guided = guided
        self._subgoal: str | None = None

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The inner format's opening, and the statement that there is no subgoal."""
        shown = _add_guide(messages) if self._guided else messages
        return self._inner.opening([*shown, self._current()], tools)

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, and the current subgoal."""
        return self._inner.following([*messages, self._current()])

    def _current(self) -> Message:
        return {"role": "system", "content": f"Current subgoal: {self._subgoal}"}

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn with the subgoal that `subgoal_of` derives from its calls."""
        *action, end = self._inner.write_turn(calls, prose)
        before, self._subgoal = self._subgoal, subgoal_of(calls, self._subgoal)
        return [*_wrap(action, KEEP if self._subgoal == before else SWITCH, self._subgoal), end]

    def read(self, pieces: Sequence[str]) -> str:
        """The text for the inner format; a readable subgoal becomes the current one."""
        text = self._inner.read(pieces)
        try:
            self._subgoal = read_plan(text).subgoal
        except ValueError:
            return text
        return text


def _wrap(action: Sequence[str], switch: str, subgoal: str) -> list[str]:
    contents = ([switch], [subgoal], action)
    return [
        piece for part, inside in zip(_PARTS, contents, strict=True) for piece in (part.opens, *inside, part.closes)
    ]


def _add_guide(messages: Sequence[Message]) -> list[Message]:
    """The messages, with an explanation of the form in the system message."""
    if not messages or messages[0]["role"] != "system":
        return [{"role": "system", "content": _GUIDE}, *messages]
    first, *others = messages
    return [{**first, "content": f"{first['content']}\n\n{_GUIDE}"}, *others]
