"""Users in the words of a model: what it writes is held to what was decided, and its faults are nobody's reward."""

import re
from collections.abc import Callable, Sequence

import pytest

from palaestra.envs.user import LlmUser, LoggedUser, Persona, ScriptedUser, UserFact, decide, opening_state
from palaestra.envs.user.llm import LONGEST, flaw
from palaestra.errors import InfrastructureError, RecordError
from palaestra.protocols import ChatModel
from palaestra.records import Message

PERSONA = Persona(
    goal="You want an order cancelled.",
    topics={"order": ("order",), "address": ("address",)},
    facts=(
        UserFact(topic="order", says="I mean ORD-1042."),
        UserFact(topic="address", says="Mill Road 3 in Cork.", mistaken="Mill Road 8 in Cork."),
    ),
    patience=1,
)
REVEAL = decide(PERSONA, opening_state(PERSONA, 0), ("ask:order",))
LEAVE = decide(PERSONA, REVEAL.state, ("ask:order",))


class Echo:
    """A model that says what it is told to, in its own order of words."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        meant = re.split(r"\): ", messages[-1]["content"])[-1]
        return f"{('Well', 'So')[seed % 2]}: {meant}"


class Says:
    """A model that gives one answer after the other, whatever it is asked."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.seeds: list[int] = []

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        del messages
        self.seeds.append(seed)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]  # what clients give where a model wrote nothing


def hear(model: ChatModel, acts: tuple[str, ...] = ("ask:order",)) -> str:
    return LlmUser(PERSONA, model).hear(opening_state(PERSONA, 3), "Which order is it?", acts).text


def test_a_model_words_what_the_scripted_user_would_say() -> None:
    scripted = ScriptedUser(PERSONA).hear(opening_state(PERSONA, 3), "", ("ask:order",))
    worded = LlmUser(PERSONA, Echo()).hear(opening_state(PERSONA, 3), "", ("ask:order",))
    assert scripted.text in worded.text
    assert worded.said == scripted.said
    assert worded.state.told == scripted.state.told
    assert worded.state.patience == scripted.state.patience


def test_a_model_is_never_told_what_it_must_not_reveal() -> None:
    asked: list[str] = []

    class Spy(Echo):
        def complete(self, messages: Sequence[Message], *, seed: int) -> str:
            asked.extend(message["content"] for message in messages)
            return super().complete(messages, seed=seed)

    hear(Spy())
    assert "ORD-1042" in "".join(asked)
    assert "Mill Road" not in "".join(asked)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("  \n ", "empty", id="white space"),
        pytest.param("ORD-1042 " + "x" * LONGEST, "characters", id="endless"),
        pytest.param("As an AI language model I cannot know ORD-1042.", "out of character", id="a model"),
        pytest.param("ORD-1042. How can I help you today?", "out of character", id="the agent"),
        pytest.param("ORD-1042. We have refunded it.", "out of character", id="claims to have acted"),
        pytest.param("The last one.", "leaves out ORD-1042", id="leaves the fact out"),
        pytest.param("It is ORD-1043.", "leaves out ORD-1042", id="another value"),
        pytest.param("ORD-1042, and send it to Mill Road 3.", "reveals 3", id="reveals another fact"),
        pytest.param("ORD-1042, and send it to Mill Road 8.", "reveals 8", id="reveals a mistake"),
        pytest.param("ORD-1042. Thanks, that is all. Goodbye!", "too early", id="ends the talk"),
    ],
)
def test_what_a_user_may_not_say_is_found(text: str, complaint: str) -> None:
    assert complaint in flaw(PERSONA, REVEAL, text)


def test_fit_words_have_no_flaw() -> None:
    assert flaw(PERSONA, REVEAL, "That would be ORD-1042, the one from May.") == ""
    assert flaw(PERSONA, LEAVE, "I have had enough. Goodbye.") == ""


def test_a_failing_model_is_asked_again_with_another_seed() -> None:
    model = Says(TimeoutError("slow"), "", "It is ORD-1042.")
    assert hear(model) == "It is ORD-1042."
    assert len(set(model.seeds)) == 3


@pytest.mark.parametrize(
    "broken",
    [lambda: TimeoutError("slow"), lambda: RuntimeError("client"), lambda: "", lambda: None, lambda: b"ORD-1042"],
)
def test_a_model_that_fails_every_time_voids_the_episode(broken: Callable[[], object]) -> None:
    with pytest.raises(InfrastructureError, match="no fit answer in 3 tries"):
        hear(Says(broken(), broken(), broken()))


def test_no_model_is_asked_where_nothing_is_said() -> None:
    silent = Persona(goal="You want it.", yields="sulks")
    state = decide(silent, opening_state(silent, 0), ("refuse",)).state
    assert LlmUser(silent, Says()).hear(state, "Well?", ("ask",)).text == ""


def test_a_log_says_what_it_holds_and_no_more() -> None:
    user = LoggedUser(PERSONA, ["It is ORD-1042."])
    first = user.hear(opening_state(PERSONA, 0), "Which?", ("ask:order",))
    assert first.text == "It is ORD-1042."
    with pytest.raises(RecordError, match="holds 1 answers"):
        user.hear(first.state, "Sure?", ("confirm:order",))
