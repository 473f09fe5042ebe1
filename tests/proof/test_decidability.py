"""Demonstrations use only what they have read: broken ones are caught, and those of every bundled family pass."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.digest import canonical
from palaestra.envs import SPLITS, ToolEnv
from palaestra.proof.decidability import Decidability, judge_decidability
from palaestra.proof.demonstrations import ObservedCall, OpenValue, find_conflicts, shared_histories, undecided_values
from palaestra.proof.transcript import Transcript
from palaestra.proof.trial import Trial
from palaestra.records import Message

HEAD = """
from palaestra.envs.kit import calculation
from palaestra.envs.worlds.storefront import (
    Desk, OrderLine, Task, call, closing_calls, decline_calls, expect_call, family
)
from palaestra.rubrics import expect_row
from palaestra.envs.worlds.storefront.schema import Return


@family("storefront/bad", level=1, traits=("refusal",))
def bad(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        several = len(desk.lines(desk.order(line))) > 1
        return several and desk.returnable(line) and desk.paid_cents(line, 1) > 200

    line = desk.pick(OrderLine, fits, what="line of an order of several products")
    order, product = desk.order(line), desk.product(line)
    ticket = desk.ticket(desk.customer(order), "Return")
    prompt = desk.mail(ticket, f"May I send back the {product.name} from {order.id}?")
    look = call("get_order", order_id=order.id)
    paid = call("compute_paid", line_id=line.id, quantity=1)
    share, fee = calculation("percent", desk.paid_cents(line, 1), 37)

    def sent_back(cents: int):
        return call("authorise_return", line_id=line.id, quantity=1, reason="changed_mind", fee_cents=cents)

    def task(*oracle):
        row = expect_row(Return, {"line_id": line.id}, id="return")
        return Task(prompt=prompt, rubric=[row], allow=[], oracle=[*oracle, call("finish")])

"""
TASKS = [f"storefront/bad/{index:04d}" for index in range(4)]


def make(**kwargs: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@pytest.fixture
def judged(tmp_path: Path) -> Any:
    """Judges four demonstrations of a family with this body."""

    def judge(body: str) -> dict[str, Decidability]:
        head = HEAD.replace('("refusal",)', '("refusal", "dialogue")') if "with_user" in body else HEAD
        (tmp_path / "bad.py").write_text(f"{head}    {body.strip()}\n")
        env = make(tasks=tmp_path)
        return {task: judge_decidability(Trial(env, task)) for task in TASKS}

    return judge


def faults(judged: dict[str, Decidability], kind: str) -> list[str]:
    return [found.what for one in judged.values() for found in one.undecided if found.kind == kind]


# Values


def test_an_amount_that_nothing_showed_is_caught(judged: Any) -> None:
    found = judged("return task(look, paid, sent_back(fee))")
    what = faults(found, "value")
    assert len(what) == len(TASKS)
    assert all(re.match(r"fee_cents=\d+ was not shown before authorise_return", sentence) for sentence in what)


def test_an_amount_that_was_calculated_from_a_percentage_that_nothing_showed_is_caught(judged: Any) -> None:
    found = judged("return task(look, paid, share, sent_back(fee))")
    assert all(re.match(r"values.1=37 was not shown before calculate", what) for what in faults(found, "value"))
    assert len(faults(found, "value")) == len(TASKS)


def test_an_amount_that_was_calculated_from_what_was_shown_passes(judged: Any) -> None:
    body = """
    less, rest = calculation("difference", line.unit_cents, line.unit_cents)
    return task(look, paid, less, sent_back(rest))
"""
    found = judged(body)
    assert not faults(found, "value")
    assert all(one.values["answer"] >= 3 for one in found.values())


def test_an_id_that_nothing_showed_is_caught(judged: Any) -> None:
    found = judged("return task(sent_back(0))")
    assert all(re.match(r"line_id='LIN-\d+' was not shown before", what) for what in faults(found, "value"))
    assert len(faults(found, "value")) == len(TASKS)


def test_an_amount_that_is_only_shown_by_the_call_itself_is_caught(judged: Any) -> None:
    found = judged("return task(look, sent_back(desk.paid_cents(line, 1) // 3), paid)")
    assert len(faults(found, "value")) == len(TASKS)


def test_a_number_in_a_message_has_to_be_shown(judged: Any) -> None:
    body = """
    told = call("reply", message=f"You get EUR {fee // 100}.{fee % 100:02d} less, and that is all of it.")
    return task(look, told, sent_back(0))
"""
    what = faults(judged(body), "value")
    assert len(what) == len(TASKS)
    assert all(re.match(r"message=\d+ was not shown before reply", sentence) for sentence in what)


# Choices


def test_a_line_named_before_what_tells_the_lines_apart_is_caught(judged: Any) -> None:
    body = """
    others = [x for x in desk.lines(order) if x.id != line.id]
    for x in [line, *others]:  # what tells the lines apart stands in the catalogue alone
        desk.state.update(x, product_name="goods", quantity=1)
    return task(look, sent_back(0))
"""
    what = faults(judged(body), "choice")
    assert what
    assert all(re.match(r"the user means '.+', and nothing had told it of ", sentence) for sentence in what)


def test_a_line_named_after_its_product_was_read_passes(judged: Any) -> None:
    body = """
    others = [x for x in desk.lines(order) if x.id != line.id]
    for x in [line, *others]:
        desk.state.update(x, product_name="goods", quantity=1)
    looks = [call("get_product", product_id=x.product_id) for x in desk.lines(order)]
    return task(look, *looks, sent_back(0))
"""
    found = judged(body)
    assert not faults(found, "choice")
    assert all(one.by_request for one in found.values())


def test_the_lines_of_an_order_are_told_apart_by_the_names_that_the_order_shows(judged: Any) -> None:
    found = judged("return task(look, sent_back(0))")
    assert not faults(found, "choice")
    assert all(one.by_request for one in found.values())


def test_a_product_looked_up_out_of_the_order_of_its_listing_is_a_choice(judged: Any) -> None:
    body = """
    for x in desk.lines(order):
        desk.state.update(x, product_name="goods", quantity=1, unit_cents=5_000, opened=False)
    return task(look, call("get_product", product_id=desk.lines(order)[-1].product_id), sent_back(0))
"""
    what = faults(judged(body), "choice")
    assert any("get_product" in sentence for sentence in what)


def test_exchanging_the_names_of_two_lines_changes_what_is_read_before_the_choice(judged: Any, tmp_path: Path) -> None:
    judged("""
    [other, *_] = [x for x in desk.lines(order) if x.id != line.id]
    if desk.stream.chance(0):
        pass
    return task(look, sent_back(0))
""")
    plain = make(tasks=tmp_path)
    before = {task: Trial(plain, task).steps[0].observation for task in TASKS}
    source = (tmp_path / "bad.py").read_text()
    exchange = """
    mine, theirs = line.product_name, other.product_name
    desk.state.update(line, product_name=theirs)
    desk.state.update(other, product_name=mine)
"""
    (tmp_path / "bad.py").write_text(source.replace("    if desk.stream.chance(0):\n        pass\n", exchange))
    exchanged = make(tasks=tmp_path)
    assert all(Trial(exchanged, task).steps[0].observation != before[task] for task in TASKS)


DIALOGUE = """
    from palaestra.envs.kit import ask, with_user
    from palaestra.envs.user import Persona, UserFact
    from palaestra.envs.worlds.storefront.topics import TOPICS
    prompt = desk.mail(ticket, f"May I send back a thing from {order.id}?")
    knows = UserFact(topic="product", says=f"The {product.name}.")
    user = Persona(goal="You want to send one thing back.", topics=TOPICS, facts=(knows,))
    which = ask("product", "Which product do you mean?")
"""


def test_a_line_named_before_the_user_said_which_is_caught(judged: Any) -> None:
    what = faults(judged(f"{DIALOGUE}    return with_user(task(look, sent_back(0), which), user)"), "choice")
    assert what
    assert all(sentence.startswith("the user means") for sentence in what)


def test_a_line_named_after_the_user_said_which_passes(judged: Any) -> None:
    found = judged(f"{DIALOGUE}    return with_user(task(look, which, sent_back(0)), user)")
    assert not faults(found, "choice")
    assert all(one.by_request for one in found.values())


# Demonstrations held against each other


TWINS = HEAD.replace('traits=("refusal",)', "twin=True")


def twin_conflicts(tmp_path: Path, granted: str, refused: str) -> list[str]:
    (tmp_path / "bad.py").write_text(f"""{TWINS}
    decline = decline_calls(ticket, "RET-3", product, "No.")[:1]
    shown = call("get_product", product_id=product.id)
    if desk.twin:
        desk.state.update(product, final_sale=True)
        return task({refused})
    return task({granted})
""")
    env = make(tasks=tmp_path)
    ids = [f"storefront/{family}/0000" for family in ("bad", "bad-twin")]
    judged = [(task, judge_decidability(Trial(env, task)).decisions) for task in ids]
    return [f"{found.other_call} {found.call}" for found in find_conflicts(judged)]


def test_demonstrations_that_diverge_on_equal_observations_are_caught(tmp_path: Path) -> None:
    [found] = twin_conflicts(tmp_path, "look, shown, sent_back(0)", "look, *decline")
    assert found.startswith("get_product")
    assert "decline_request" in found


def test_demonstrations_that_diverge_once_they_have_seen_the_difference_pass(tmp_path: Path) -> None:
    assert not twin_conflicts(tmp_path, "look, shown, sent_back(0)", "look, shown, *decline")


def test_only_a_difference_in_what_was_observed_excuses_a_difference_in_calls() -> None:
    first = ObservedCall(history="a", call="x"), ObservedCall(history="b", call="y")
    assert not find_conflicts([("one", first), ("two", (ObservedCall(history="c", call="z"),))])
    [found] = find_conflicts([("one", first), ("two", (ObservedCall(history="b", call="z"),))])
    assert (found.task, found.other, found.call, found.other_call) == ("two", "one", "z", "y")
    assert shared_histories([("one", first), ("two", first)]) == 2


def open_value(value: str, request: str, *features: str) -> OpenValue:
    return OpenValue(name="t.remedy", number=0, value=value, request=request, features=frozenset(features))


def test_a_listed_value_that_differs_needs_a_shown_fact_or_another_request() -> None:
    assert undecided_values([open_value("repair", "r", "a"), open_value("replace", "r", "a")])
    assert not undecided_values([open_value("repair", "r", "stock<=0"), open_value("replace", "r", "stock>0")])
    assert not undecided_values([open_value("repair", "r"), open_value("replace", "other")])
    assert not undecided_values([open_value("repair", "r", "a"), open_value("repair", "r", "b")])


# What was shown


def answer(value: object) -> Message:
    return {"role": "tool", "content": canonical(value).decode()}


def test_amounts_in_texts_are_read_in_cents_and_counts_as_numbers() -> None:
    shown = Transcript()
    shown.read([answer({"body": "It is EUR 1,250.05 within 14 days, or 15 %, for both."})])
    assert {125_005, 14, 15, 2} <= shown.numbers
    assert not {250, 1250, 5, 1} & shown.numbers


def test_parts_of_ids_and_dates_are_no_numbers() -> None:
    shown = Transcript()
    shown.read([{"role": "user", "content": "ORD-1042 came on 2026-06-03."}])
    assert not shown.numbers
    assert shown.has_words("ord-1042 2026-06-03")


@pytest.mark.parametrize("shown", ["03.06.2026", "03/06/2026", "3 Jun 2026"])
def test_a_day_is_known_in_every_notation_of_tools(shown: str) -> None:
    transcript = Transcript()
    transcript.read([{"role": "user", "content": "It came on 2026-06-03."}])
    assert transcript.has_words(shown)
    other = Transcript()
    other.read([answer({"day": shown})])
    assert other.has_words("2026-06-03")
    assert not other.has_words("2026-03-06")


def test_an_amount_with_two_places_is_known_in_cents() -> None:
    shown = Transcript()
    shown.read([answer({"amount": "12.50", "note": "version 3.10"})])
    assert 1_250 in shown.numbers
    assert 310 not in shown.numbers


def test_what_stands_beside_an_id_tells_of_its_record() -> None:
    shown = Transcript(lambda word: word.startswith("P-"))
    shown.read([answer({"lines": [{"id": "P-1", "part": "P-9", "name": "Fan"}]})])
    assert shown.values_of("P-9") == ["Fan"]
    assert shown.listings == [("P-1", "P-9")]


# Every family passes


@cache
def storefront() -> ToolEnv:
    return make()


def some_of_each(each: int) -> Iterator[str]:
    """The first tasks of every family, twins beside their siblings."""
    listed = sorted(task for split in SPLITS for task in storefront().task_set.ids(split))
    for _, tasks in groupby(listed, key=lambda task: task.rpartition("/")[0]):
        yield from list(tasks)[:each]


def test_every_family_of_the_storefront_uses_only_what_it_has_read() -> None:
    env = storefront()
    judged = {task: judge_decidability(Trial(env, task)) for task in some_of_each(3)}
    assert [found.what for one in judged.values() for found in one.undecided] == []
    assert find_conflicts((task, one.decisions) for task, one in judged.items()) == []
    for family in {task.rpartition("/")[0] for task in judged}:
        values = [v for task, one in judged.items() if task.rpartition("/")[0] == family for v in one.open]
        assert undecided_values(values) == [], family
    assert shared_histories((task, one.decisions) for task, one in judged.items()) > len(judged)
    assert sum(one.by_request for one in judged.values()) > 100
