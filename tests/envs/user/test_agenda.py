"""What a user decides to say, act by act."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs.user import Decision, FeeTalk, Persona, Reaction, UserFact, UserState, decide, opening_state
from palaestra.errors import TaskError

TOPICS = {"order": ("order",), "product": ("product",), "address": ("address",), "fee": ("fee",)}
ORDER = UserFact(topic="order", says="It is ORD-7.")
PRODUCT = UserFact(topic="product", says="The mouse.")


def persona(**changes: object) -> Persona:
    stated: dict[str, object] = {"goal": "You want help.", "topics": TOPICS, "facts": (ORDER, PRODUCT), **changes}
    return Persona(**stated)  # type: ignore[arg-type]


def talk(who: Persona, *messages: tuple[str, ...] | str) -> list[Decision]:
    """The decisions on messages that do these acts, one after the other."""
    state, found = replace(opening_state(who, 0), fee="stated"), list[Decision]()
    for acts in messages:
        found.append(decide(who, state, (acts,) if isinstance(acts, str) else acts))
        state = found[-1].state
    return found


def said(who: Persona, *messages: tuple[str, ...] | str) -> list[tuple[str, ...]]:
    return [tuple(point.said for point in decision.points) for decision in talk(who, *messages)]


def last(who: Persona, *messages: tuple[str, ...] | str) -> UserState:
    return talk(who, *messages)[-1].state


# Facts


def test_a_fact_is_told_when_its_topic_is_asked_about_and_not_before() -> None:
    (told,) = talk(persona(), "ask:order")
    assert [(point.said, point.says) for point in told.points] == [("reveal:order", "It is ORD-7.")]
    assert said(persona(), "inform:order") == [("acknowledge",)]


def test_a_question_about_nothing_in_particular_is_about_what_is_untold() -> None:
    assert said(persona(), "ask", "ask", "ask") == [("reveal:order",), ("reveal:product",), ("unknown",)]


def test_asking_again_irritates_and_is_answered_again() -> None:
    decisions = talk(persona(patience=3), "ask:order", "ask:order")
    assert decisions[1].points[0].said == "repeat:order"
    assert decisions[1].points[0].says == ORDER.says
    assert decisions[1].state.irritations == ("repeat:order",)
    assert decisions[1].state.patience == 2


def test_a_fact_may_be_checked_once_without_irritating() -> None:
    assert said(persona(), "ask:order", "confirm:order", "confirm:order") == [
        ("reveal:order",),
        ("affirm:order",),
        ("affirm:order",),
    ]
    assert last(persona(), "ask:order", "confirm:order").irritations == ()
    assert last(persona(), "ask:order", "confirm:order", "confirm:order").irritations == ("repeat:order",)


def test_too_much_at_once_reveals_one_thing_and_irritates() -> None:
    everything = tuple(f"ask:{topic}" for topic in TOPICS)
    (decision,) = talk(persona(patience=5), everything)
    assert [point.said for point in decision.points] == ["reveal:order"]
    assert decision.state.irritations == ("overload",)


# Mistakes


def test_a_mistake_is_told_first_and_mended_when_asked_to_check() -> None:
    who = persona(facts=(UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1."),))
    assert said(who, "ask:order", "confirm:order") == [("mistake:order",), ("correct:order",)]
    assert last(who, "ask:order").misled == ("order",)
    assert last(who, "ask:order", "confirm:order").misled == ()
    assert said(who, "confirm:order") == [("correct:order",)]


def test_a_mistake_in_the_request_is_mended_by_any_question_about_it() -> None:
    who = persona(facts=(UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1.", stated=True),))
    assert opening_state(who, 0).misled == ("order",)
    assert said(who, "ask:order") == [("correct:order",)]


def test_a_stubborn_mistake_stands_and_insisting_on_it_irritates() -> None:
    who = persona(facts=(UserFact(topic="order", says="It is ORD-7.", mistaken="It is ORD-1.", stubborn=True),))
    state = last(who, "ask:order", "confirm:order", "confirm:order")
    assert state.misled == ("order",)
    assert state.irritations == ("repeat:order", "repeat:order")


# Offers, news, refusals


def test_the_first_reaction_that_fits_answers_once() -> None:
    who = persona(reactions=(Reaction(to="inform:fee", says="Then I keep it.", said="change:keep", settles=True),))
    decisions = talk(who, "inform:fee", "inform:fee")
    assert [d.points[0].said for d in decisions] == ["change:keep", "thanks"]
    assert decisions[0].state.mood == "settled"


def test_an_offer_that_nobody_wants_is_turned_down() -> None:
    assert said(persona(), "offer:fee") == [("decline:fee",)]


def test_a_refusal_is_pushed_against_as_often_as_stated_and_then_accepted() -> None:
    who = persona(pushes=2, pleas=("I was promised it.",))
    decisions = talk(who, "refuse:fee", "refuse:fee", "refuse:fee", "refuse:fee")
    assert [d.points[0].said for d in decisions] == ["push", "push", "accept", "thanks"]
    assert decisions[0].points[0].says == "I was promised it."
    assert decisions[2].state.mood == "settled"
    assert decisions[2].state.yielded == "refuse:fee"


def test_whoever_insists_takes_every_evasion_for_a_refusal() -> None:
    who = persona(pushes=2)
    assert said(who, "refuse", "apologise", (), "inform") == [("push",), ("push",), ("accept",), ("thanks",)]
    assert last(who, "refuse", ()).irritations == ()


def test_one_message_is_pushed_against_once() -> None:
    assert said(persona(pushes=3), ("apologise", "refuse:fee", "refuse:order")) == [("push",)]


def test_a_sulking_user_says_no_more_and_does_not_end_the_episode() -> None:
    who = persona(yields="sulks")
    decisions = talk(who, "refuse", "ask:order", "inform", "offer:fee")
    assert [len(d.points) for d in decisions] == [1, 0, 0, 0]
    assert not any(d.leaves for d in decisions)


# Patience


def test_patience_ends_with_leaving_and_with_nothing_else_said() -> None:
    decisions = talk(persona(patience=2), "ask:order", "ask:order", "ask:order")
    assert [d.leaves for d in decisions] == [False, False, True]
    assert [point.said for point in decisions[2].points] == ["leave"]


def test_a_heated_user_minds_twice_as_much() -> None:
    assert last(persona(temper="heated", patience=4), "ask:order", "ask:order").patience == 2


def test_questions_beyond_those_answered_gladly_irritate() -> None:
    assert last(persona(questions=1), "ask:order", "ask:product").irritations == ("questions",)


def test_what_cannot_be_understood_is_forgiven_twice_and_then_irritates() -> None:
    decisions = talk(persona(patience=2), (), (), (), ())
    assert [d.points[0].said for d in decisions] == ["unclear", "unclear", "unclear", "leave"]
    assert decisions[-1].state.irritations == ("unclear", "unclear")


def test_who_has_told_everything_thanks_once_for_a_message_that_asks_nothing() -> None:
    told = persona(facts=(UserFact(topic="order", says="It is ORD-7."),))
    assert said(told, ("ask:order",), (), ()) == [("reveal:order",), ("thanks",), ()]
    assert said(told, (), ("ask:order",)) == [("unclear",), ("reveal:order",)]


def test_who_waits_for_an_offer_says_that_a_message_was_unclear() -> None:
    waits = persona(
        facts=(UserFact(topic="order", says="It is ORD-7."),),
        reactions=(Reaction(to="offer:return", says="Go ahead.", said="accept:return", settles=True),),
    )
    assert said(waits, ("ask:order",), ()) == [("reveal:order",), ("unclear",)]


def test_an_offer_beside_what_was_just_accepted_is_not_turned_down() -> None:
    who = persona(reactions=(Reaction(to="inform:fee", says="Go ahead.", said="accept:fee", settles=True),))
    assert said(who, ("inform:fee", "offer:fee")) == [("accept:fee",)]


def test_a_fee_that_was_not_stated_is_asked_about_or_ignored() -> None:
    who = persona(reactions=(Reaction(to="inform:fee", says="Go ahead.", said="accept:fee", settles=True),))
    answers: dict[FeeTalk, str] = {"open": "query:fee", "unspoken": "acknowledge", "denied": "acknowledge"}
    for fee, answer in answers.items():
        state = replace(opening_state(who, 0), fee=fee)
        assert [point.said for point in decide(who, state, ("inform:fee",)).points] == [answer]


@given(
    st.lists(
        st.lists(st.sampled_from(["inform", "ask", "confirm", "offer", "refuse", "apologise", "close"]), max_size=3),
        max_size=12,
    ),
    st.sampled_from(["calm", "terse", "heated"]),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_nobody_leaves_but_for_irritations_and_no_talk_goes_on_for_ever(
    messages: list[list[str]], temper: str, patience: int, pushes: int
) -> None:
    who = persona(temper=temper, patience=patience, pushes=pushes)
    cost = 2 if temper == "heated" else 1
    state = opening_state(who, 0)
    for acts in messages:
        if state.mood == "gone":
            break
        decision = decide(who, state, tuple(acts))
        assert decision.state.patience == who.patience - cost * len(decision.state.irritations)
        assert decision.leaves == (decision.state.patience <= 0)
        assert decision.state.pushes + decision.state.said.count("push") <= who.pushes
        assert set(decision.state.told) <= {"order", "product"}
        state = decision.state


# Stating one


def test_a_persona_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(TaskError, match="two facts about 'order'"):
        persona(facts=(ORDER, ORDER))
    with pytest.raises(TaskError, match="'price', which is no topic"):
        persona(facts=(UserFact(topic="price", says="10"),))
    with pytest.raises(TaskError, match="patience 0"):
        persona(patience=0)
    with pytest.raises(TaskError, match="is no mistake"):
        persona(facts=(UserFact(topic="order", says="It is ORD-7.", stubborn=True),))
