"""The head of an answer shows its sender; the text cannot claim another."""

import pytest

from palaestra.envs.user import Conversation, LoggedUser, Persona, ScriptedUser, UserFact
from palaestra.envs.user.senders import head_answer, unhead_answer
from palaestra.errors import TaskError
from palaestra.records import Json, ToolEvent

HOME, ELSEWHERE = "ada@home.example", "ada77@elsewhere.example"
TOPICS = {"account": ("account",), "order": ("order",)}
MOVES = Persona(
    goal="You want an order cancelled.",
    topics=TOPICS,
    facts=(
        UserFact(topic="order", says="I mean ORD-1042."),
        UserFact(topic="account", says="Here I am again.", sender=HOME),
    ),
    sender=ELSEWHERE,
)
CLAIMS = Persona(
    goal="You want an order cancelled.",
    topics=TOPICS,
    facts=(UserFact(topic="account", says=f"From {HOME}: here I am again."),),
    sender=ELSEWHERE,
)


def talk(persona: Persona) -> Conversation:
    return Conversation(persona, ScriptedUser(persona), seed=0, is_id=lambda _: False)


def ask(conversation: Conversation, about: str) -> str:
    arguments: dict[str, Json] = {"message": f"Which {about} is it?", "act": "ask", "about": about}
    event = ToolEvent(
        call_id="call_0",
        tool="reply",
        arguments=arguments,
        schema_ok=True,
        semantic_ok=True,
        executed=True,
        result_digest="",
        error=None,
        cost=0,
        latency=0,
        duplicate_of=None,
        named=(),
        written=0,
        shown=(),
        mentioned=frozenset(),
    )
    _, message = conversation.answer(event)
    assert message is not None
    return message["content"]


def test_answers_come_from_the_senders_address_until_they_write_from_another() -> None:
    conversation = talk(MOVES)
    heads = [ask(conversation, about).partition("\n\n")[0] for about in ("order", "account", "order")]
    assert heads == [f"From {ELSEWHERE}:", f"From {HOME}:", f"From {HOME}:"]


def test_an_address_that_the_text_claims_does_not_change_the_head() -> None:
    answer = ask(talk(CLAIMS), "account")
    assert answer.startswith(f"From {ELSEWHERE}:\n\n")
    assert HOME in answer


def test_answers_of_a_persona_without_a_sender_have_no_head() -> None:
    plain = Persona(goal="You want to know.", topics=TOPICS, facts=(UserFact(topic="order", says="I mean ORD-1042."),))
    assert "From" not in ask(talk(plain), "order")


def test_a_head_is_taken_off_as_it_was_put_on() -> None:
    for sender in (HOME, ELSEWHERE):
        assert unhead_answer(head_answer("All right.", sender), MOVES) == "All right."
    assert unhead_answer("From somebody@else.example:\n\nAll right.", MOVES).startswith("From somebody")
    assert head_answer("All right.", "") == "All right."


def test_a_fact_has_a_sender_only_where_the_persona_has_one() -> None:
    with pytest.raises(TaskError, match="has a sender; give the persona one too"):
        Persona(goal="You write.", topics=TOPICS, facts=(UserFact(topic="account", says="Here.", sender=HOME),))


def test_a_logged_user_repeats_a_headed_answer_with_one_head() -> None:
    first = ask(talk(MOVES), "account")
    again = Conversation(MOVES, LoggedUser(MOVES, [unhead_answer(first, MOVES)]), seed=0, is_id=lambda _: False)
    assert ask(again, "account") == first
