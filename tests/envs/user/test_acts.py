from palaestra.envs.user import parse_acts

TOPICS = {"order": ("order", "order number"), "address": ("address", "street")}


def test_stated_acts_win_over_a_text_that_does_nothing_else() -> None:
    assert parse_acts({"message": "All right then.", "act": "ask", "about": "order"}, TOPICS) == ("ask:order",)
    assert parse_acts({"message": "Is it that street?", "act": "ask", "about": "order"}, TOPICS) == ("ask:order",)


def test_a_text_that_contradicts_the_stated_act_wins() -> None:
    refusal = {"message": "We cannot do that.", "act": "ask", "about": "order"}
    assert parse_acts(refusal, TOPICS) == ("refuse",)
    question = {"message": "Which order is it?", "act": "refuse"}
    assert parse_acts(question, TOPICS) == ("ask:order",)


def test_a_denied_fee_is_not_heard_as_one() -> None:
    topics = {"fee": ("fee",)}
    for stated in ({}, {"act": "inform", "about": "fee"}, {"act": "offer", "about": "fee"}):
        assert parse_acts({"message": "There is no fee at all.", **stated}, topics) == ("inform:no-fee",)


def test_small_talk_is_heard_and_what_is_not_understood_is_not() -> None:
    assert parse_acts({"message": "Thank you for your message."}, TOPICS) == ("inform",)
    assert parse_acts({"message": "order order address"}, TOPICS) == ()


def test_what_a_stated_act_is_about_is_read_from_the_text_where_it_is_left_out() -> None:
    assert parse_acts({"message": "Which street is it?", "act": "ask"}, TOPICS) == ("ask:address",)
    assert parse_acts({"message": "All done.", "act": "ask"}, TOPICS) == ("ask",)


def test_what_a_message_does_is_read_from_the_text_where_only_its_topic_is_stated() -> None:
    assert parse_acts({"message": "Which one is it?", "about": "order"}, TOPICS) == ("ask:order",)


def test_a_topic_may_be_named_by_its_words_and_an_unknown_one_stays() -> None:
    assert parse_acts({"message": "x", "act": "ask", "about": "Order-Number"}, TOPICS) == ("ask:order",)
    assert parse_acts({"message": "x", "act": "ask", "about": "the street"}, TOPICS) == ("ask:address",)
    assert parse_acts({"message": "x", "act": "ask", "about": "weather"}, TOPICS) == ("ask:weather",)


def test_without_stated_acts_the_text_decides() -> None:
    assert parse_acts({"message": "Which order is it?"}, TOPICS) == ("ask:order",)
