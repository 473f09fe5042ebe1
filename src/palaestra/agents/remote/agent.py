"""A remote chat model as an agent, which plays episodes with the server's native tool calling.

Chats are more restricted than episodes, so three things are converted. A call's answer names the id that the server
gave to the call. A world's message without a waiting call, as after a turn of prose, becomes a user message. A call
without an answer, because the turn could not be run, gets the message about the turn.

Answers are expected in the order of the calls, which worlds guarantee. Do not wrap it in a `PatientAgent`: a model must
read refusals itself.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from palaestra.agents.remote.chat import RemoteChat
from palaestra.agents.remote.edge import run_in_thread
from palaestra.agents.remote.reply import ChatReply, RequestedCall
from palaestra.errors import WaitError
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream

_QUOTED = 200
"""Characters of invalid arguments that the model reads again."""
_CUT_OFF = "Your last turn was cut off by its limit of tokens, and nothing of it was run."


class RemoteAgent:
    """Lets a chat model act.

    A turn with calls is these calls; a turn without calls is its text. A turn that was cut off, or has a call whose
    arguments are not a JSON object, becomes a turn without a call, which the world counts as unreadable.

    Args:
        chat: The model.
        left: Returns the maximum seconds for a turn; called before each turn. `None` uses only the server's own time
            limit.
    """

    def __init__(self, chat: RemoteChat, *, left: Callable[[], float] | None = None) -> None:
        self._chat = chat
        self._left = left
        self._tools: tuple[JsonSchema, ...] = ()
        self.replies: list[ChatReply] = []
        """Every reply of the episode."""
        self.troubles: Counter[str] = Counter()
        """Counts of failures in the episode, by kind: failed tries as reported by `Endpoint.post`; "malformed call" for
        each call whose arguments are not a JSON object; "cut off" for each turn that a token limit ended; "filtered"
        and "empty reply" for turns without text or calls."""
        self.troubled = False
        """Whether a try of the last turn failed."""

    def offer(self, tools: Sequence[JsonSchema]) -> None:
        """Set the tools that are offered from now on."""
        self._tools = tuple(tools)

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        self.offer(tools)
        self._draws = Stream.root("remote-agent", seed)
        self._chatted: list[Mapping[str, object]] = []
        self._open: list[tuple[str, str]] = []
        """The calls of the last turn that wait for an answer: the id, and the fault of each."""
        self.replies.clear()
        self.troubles.clear()

    def act(self, messages: Sequence[Message]) -> Action:
        """The model's next action.

        Raises:
            WaitError: the server took too long, or longer than the remaining time.
            ServerError: the server could not be reached, or failed.
            ReplyError: the server refused the request, or its answer is not a chat completion.
        """
        self._hear(messages)
        reply = run_in_thread(self._turn())
        self.replies.append(reply)
        self._count(reply)
        self._remember(reply)
        readable = not reply.cut_off and all(call.arguments is not None for call in reply.calls)
        if not readable:
            return []
        if reply.calls:
            return [{"tool": call.tool, "arguments": call.arguments} for call in reply.calls]
        return reply.content or []

    async def _turn(self) -> ChatReply:
        self.troubled = False
        seconds = None if self._left is None else self._left()
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                seed = self._draws.below(2**31)
                return await self._chat.chat(self._chatted, self._tools, seed=seed, told=self._count_trouble)
        except TimeoutError:  # the server's time limit, or the remaining time
            if not limit.expired():
                raise
            raise WaitError(f"waited {seconds:.0f} s for the model's turn, which was all that was left") from None

    def _count_trouble(self, trouble: str) -> None:
        self.troubled = True
        self.troubles[trouble] += 1

    def _count(self, reply: ChatReply) -> None:
        if reply.cut_off:
            self.troubles["cut off"] += 1
        elif not reply.calls and not reply.content:
            self.troubles["filtered" if reply.finish_reason == "content_filter" else "empty reply"] += 1
        elif malformed := sum(call.arguments is None for call in reply.calls):
            self.troubles["malformed call"] += malformed

    def _hear(self, messages: Sequence[Message]) -> None:
        """Add new messages to the chat, answers first, in the form of chat models."""
        answers = [message["content"] for message in messages if message["role"] == "tool"]
        waiting, self._open = self._open, []
        for position, (name, fault) in enumerate(waiting):
            content = answers[min(position, len(answers) - 1)] if answers else ""
            self._chatted.append({"role": "tool", "tool_call_id": name, "content": content + fault})
        rest = answers[len(waiting) :]
        self._chatted += [{"role": "user", "content": answer} for answer in rest]
        # Chat protocols allow images only in user messages.
        for message in messages:
            if message["role"] == "tool" and (images := message.get("images")):
                self._chatted.append({"role": "user", "content": _parts(f"Images of {message.get('name')}:", images)})
        self._chatted += [
            {"role": message["role"], "content": _parts(message["content"], message.get("images", ()))}
            for message in messages
            if message["role"] != "tool"
        ]

    def _remember(self, reply: ChatReply) -> None:
        said: dict[str, object] = {"role": "assistant", "content": reply.content or ""}
        if reply.calls:
            named = list(zip(self._ids(reply.calls), reply.calls, strict=True))
            said["tool_calls"] = [_as_asked(name, call) for name, call in named]
            self._open = [(name, _fault(call, cut_off=reply.cut_off)) for name, call in named]
        self._chatted.append(said)
        if reply.cut_off and not reply.calls:
            self._chatted.append({"role": "user", "content": _CUT_OFF})

    def _ids(self, calls: Sequence[RequestedCall]) -> list[str]:
        """The server's ids if every call has a different one, otherwise generated ids."""
        given = [call.id for call in calls]
        if all(given) and len(set(given)) == len(given):
            return given
        return [f"call_{len(self.replies)}_{position}" for position in range(len(calls))]


def _parts(text: str, images: Sequence[str]) -> object:
    """A message's content in the form of chat models: text, or text and images."""
    if not images:
        return text
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in images)]


def _as_asked(name: str, call: RequestedCall) -> dict[str, object]:
    """A call in the form of the chat; servers refuse chats with arguments that are not JSON."""
    arguments = "{}" if call.arguments is None else call.raw or "{}"
    return {"id": name, "type": "function", "function": {"name": call.tool, "arguments": arguments}}


def _fault(call: RequestedCall, *, cut_off: bool) -> str:
    if cut_off:
        return f"\n{_CUT_OFF}"
    return f"\nThe arguments were no JSON object: {call.raw[:_QUOTED]}" if call.arguments is None else ""
