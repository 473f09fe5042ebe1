"""Facts behind the answers of tools: true by a second computation, and those of the compact format."""

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import ConfigError
from palaestra.records import Message
from palaestra.tools import CHAT_FORMATS, FORMATS, CompactFormat, FactsFormat, OpaqueFormat, PlannerFormat, QwenFormat
from palaestra.tools.formats.comparisons import days_word, gap_word
from palaestra.tools.formats.with_facts import SUFFIX

TODAY = date(2031, 1, 20)
BRIEFING: Message = {"role": "system", "content": f"It is Monday {TODAY}. You are EMP-101."}
REQUEST: Message = {"role": "user", "content": "Cancel ORD-1042. It cost EUR 49.99 and came on 2031-01-08."}
OPENING = [BRIEFING, REQUEST]
TOOLS: list[Any] = [
    {"function": {"name": "get_order", "parameters": {"properties": {"order_id": {"type": "string"}}}}},
]
WITH_FACTS = [name for name in CHAT_FORMATS if name.endswith(SUFFIX)]
ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(
    r'On 2031-01-20, after the request "(?P<request>[^"]*)":\n\n```\n(?P<answer>.*)\n\n(?P<facts>Facts about[^`]*)\n```'
)
LINE = re.compile(r"(?P<field>[\w.]+) (?P<value>\S+): (?P<facts>.*)")

days = st.dates(date(2030, 6, 1), date(2031, 6, 1)).map(str)
ids = st.sampled_from(["ORD-1042", "ORD-7", "PRD-1", "PRD-2"])
amounts = st.sampled_from([100, 101, 250, 4999, 5000, 120_000])
records = st.fixed_dictionaries({"product_id": ids, "price_cents": amounts, "shipped_on": days, "arrived_on": days})
answers = st.fixed_dictionaries({"order_id": ids, "placed_on": days, "lines": st.lists(records, max_size=5)})


def answer_of(value: Any, name: str = "get_order") -> Message:
    return {"role": "tool", "name": name, "content": json.dumps(value)}


def facts_behind(contents: list[Any], name: str = "qwen-facts") -> list[list[str]]:
    """The lines behind each answer."""
    rendering, plain = CHAT_FORMATS.get(name).rendering(), CHAT_FORMATS.get(name.removesuffix(SUFFIX)).rendering()
    assert rendering.opening(OPENING, TOOLS) == plain.opening(OPENING, TOOLS)
    found: list[list[str]] = []
    for number, value in enumerate(contents):
        message = answer_of(value, f"look_{number}")
        text = "".join(rendering.following([message]))
        assert "".join(plain.following([message])) == re.sub(
            r"\n\nFacts about these values:(?:\n- .*)*?(?=\n?<)", "", text
        )
        found.append(re.findall(r"^- (.*?)(?:<\|im_end\|>)?$", text, re.MULTILINE))
    return found


def column(answer: Any, path: str) -> list[Any]:
    """The values of a field, by a walk of its own."""
    *outer, last = path.split(".")
    rows: list[Any] = [answer]
    for name in outer:
        rows = [inner for row in rows for inner in row[name]]
    return [row[last] for row in rows]


def ordinals(count: int, least: str, greatest: str) -> list[str]:
    middle = [f"{n}{'nd' if n == 2 else 'rd' if n == 3 else 'th'} {least}" for n in range(2, count)]
    return [least, *middle, greatest]


def is_true(fact: str, path: str, value: Any, contents: list[Any]) -> bool:
    """Whether a fact of a value in the last answer is true, from the raw answers alone."""
    answer = contents[-1]
    if found := re.fullmatch(r"today|in (\d+) days?|(\d+) days? ago", fact):
        distance = int(found[1] or 0) - int(found[2] or 0)
        return date.fromisoformat(value).toordinal() - TODAY.toordinal() == distance
    if found := re.fullmatch(r"(?:(\d+) days? (after|before)|on the same day as) ([\w.]+) (\d{4}-\d\d-\d\d)", fact):
        gap = int(found[1] or 0) * (-1 if found[2] == "before" else 1)
        rows = answer["lines"] if path.startswith("lines.") else [answer]
        mine, other = path.removeprefix("lines."), found[3].removeprefix("lines.")
        same = any(row[mine] == value and row[other] == found[4] for row in rows)
        return same and date.fromisoformat(value).toordinal() - date.fromisoformat(found[4]).toordinal() == gap
    if found := re.fullmatch(r"(.*(?:est|st)) of (\d+)( different values)?", fact):
        words = ("earliest", "latest") if isinstance(value, str) else ("smallest", "largest")
        values = column(answer, path)
        different = sorted(set(values))
        ties = len(different) != len(values)
        place = ordinals(len(different), *words)[different.index(value)]
        return (found[1], int(found[2]), bool(found[3])) == (place, len(different), ties)
    if found := re.fullmatch(r"(more than|less than|after|before|the same as) (.*)", fact):
        return any(holds(found[1], value, other) for described, other in origins(contents) if described == found[2])
    return False


def holds(word: str, value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return False
    if word == "the same as":
        return bool(value == other)
    return bool(value > other if word in ("more than", "after") else value < other)


def origins(contents: list[Any]) -> Iterator[tuple[str, Any]]:
    """What a line may call a value that was shown, and the value."""
    for text, value in (("ORD-1042", "ORD-1042"), ("EUR 49.99", 4999), ("2031-01-08", "2031-01-08")):
        yield "in the request", value
        yield f"{text} in the request", value
    yield f"{TODAY} in the briefing", str(TODAY)
    for number, answer in enumerate(contents):
        where = "above" if number == len(contents) - 1 else f"in the answer of look_{number}"
        paths = ["order_id", "placed_on", *(f"lines.{name}" for row in answer["lines"] for name in row)]
        for path in paths:
            for value in column(answer, path):
                yield f"{path} {where}", value
                yield f"{path} {value} {where}", value


@given(contents=st.lists(answers, min_size=1, max_size=3))
def test_every_fact_is_true_by_a_second_computation(contents: list[Any]) -> None:
    for number, lines in enumerate(facts_behind(contents)):
        for line in lines:
            found = LINE.fullmatch(line)
            assert found is not None, line
            values = {str(value): value for value in column(contents[number], found["field"])}
            for fact in found["facts"].split("; "):
                assert is_true(fact, found["field"], values[found["value"]], contents[: number + 1]), line


@given(contents=st.lists(answers, min_size=1, max_size=1))
def test_every_day_and_every_ranked_amount_of_a_first_answer_has_its_fact(contents: list[Any]) -> None:
    [lines] = facts_behind(contents)
    said = {line.partition(":")[0]: line for line in lines}
    for path in ("placed_on", "lines.shipped_on", "lines.arrived_on"):
        for value in column(contents[0], path):
            assert re.search(r": (today|in \d+ day|\d+ days? ago)", said[f"{path} {value}"])
    prices = column(contents[0], "lines.price_cents")
    for value in prices:
        assert (" of " in said.get(f"lines.price_cents {value}", "")) == (len(set(prices)) > 1)


@given(content=answers)
def test_the_compact_format_says_the_same_of_days_ranks_and_comparisons(content: Any) -> None:
    [lines] = facts_behind([content])
    rendering = CompactFormat().rendering()
    rendering.opening(OPENING, TOOLS)
    words = "".join(rendering.following([answer_of(content)]))
    facts = [fact for line in lines for fact in line.partition(": ")[2].split("; ")]
    days_said = {days_word(days) for fact in facts if (days := _distance(fact)) is not None}
    gaps_said = {gap_word(days) for fact in facts if (days := _gap(fact)) is not None}
    ranks = re.compile(r"#\d+(?: top)?")
    assert days_said == set(re.findall(r"(?<=> )(?:today|in \d+(?:d|mo)|\d+(?:d|mo) ago)", words))
    assert gaps_said == set(re.findall(r"(?<= )[+-]\d+(?:d|mo)(?= |;|<|$)", words))
    assert bool(ranks.search(words)) == any(re.search(r"est of \d", fact) for fact in facts)
    over = any(re.match(r"more than|after ", fact) for fact in facts)
    under = any(re.match(r"less than|before ", fact) for fact in facts)
    assert (over, under) == (" over <" in words, " under <" in words)


def _distance(fact: str) -> int | None:
    found = re.fullmatch(r"(?:today|in (\d+) days?|(\d+) days? ago)", fact)
    return int(found[1] or 0) - int(found[2] or 0) if found else None


def _gap(fact: str) -> int | None:
    found = re.fullmatch(r"(?:(\d+) days? (after|before)|on the same day as) [\w.]+ \S+", fact)
    return int(found[1] or 0) * (-1 if found[2] == "before" else 1) if found else None


def test_an_answer_of_which_nothing_follows_stays_as_it_is() -> None:
    assert facts_behind([{"ok": True, "count": 3}]) == [[]]
    for name in WITH_FACTS:
        rendering, plain = CHAT_FORMATS.get(name).rendering(), CHAT_FORMATS.get(name.removesuffix(SUFFIX)).rendering()
        assert rendering.opening(OPENING, TOOLS) == plain.opening(OPENING, TOOLS)
        answer = answer_of({"ok": True})
        assert rendering.following([answer, REQUEST]) == plain.following([answer, REQUEST])


def test_facts_are_sentences_that_name_field_value_and_place() -> None:
    order = {
        "id": "ORD-1042",
        "placed_at": "2031-01-05T09:00:00",
        "delivered_at": "2031-01-08T10:00:00",
        "lines": [{"product_id": "PRD-1", "price_cents": 4999}, {"product_id": "PRD-2", "price_cents": 1200}],
    }
    assert facts_behind([order, {"product_id": "PRD-2", "price_cents": 1200}]) == [
        [
            "id ORD-1042: the same as in the request",
            "placed_at 2031-01-05T09:00:00: 15 days ago; before 2031-01-08 in the request",
            (
                "delivered_at 2031-01-08T10:00:00: 12 days ago; 3 days after placed_at 2031-01-05T09:00:00; "
                "the same day as 2031-01-08 in the request"
            ),
            "lines.price_cents 4999: the same as EUR 49.99 in the request; largest of 2",
            "lines.price_cents 1200: less than EUR 49.99 in the request; smallest of 2",
        ],
        [
            "product_id PRD-2: the same as lines.product_id in the answer of look_0",
            (
                "price_cents 1200: less than EUR 49.99 in the request; "
                "the same as lines.price_cents in the answer of look_0"
            ),
        ],
    ]


def test_the_example_of_the_documentation_is_what_a_policy_reads() -> None:
    example = EXAMPLE.search((ROOT / "docs" / "training.md").read_text())
    assert example is not None
    request: Message = {"role": "user", "content": re.sub(r"\s+", " ", example["request"])}
    rendering = CHAT_FORMATS.get("qwen-facts").rendering()
    rendering.opening([BRIEFING, request], TOOLS)
    answer: Message = {"role": "tool", "name": "get_order", "content": example["answer"]}
    assert f"{example['answer']}\n\n{example['facts']}<" in "".join(rendering.following([answer])).replace("\n<", "<")


def test_a_number_outside_the_records_of_its_field_has_no_rank() -> None:
    mixed = {"rows": [{"at": [{"n": 300}, [700]]}, {"at": 500}, {"at": 400}]}
    [lines] = facts_behind([mixed])
    assert lines == ["rows.at 500: largest of 2", "rows.at 400: smallest of 2"]


def test_text_of_an_answer_cannot_write_a_line_of_facts() -> None:
    forged = "PRD-1\n- price_cents 1: largest of 9"
    [_, lines] = facts_behind([{"product_id": forged}, {"product_id": forged}])
    assert lines == [f"product_id {json.dumps(forged)}: the same as product_id in the answer of look_0"]


@pytest.mark.parametrize("name", ["compact", "opaque", "planner"])
def test_a_format_that_takes_no_facts_refuses_them_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"the format '{name}' takes no facts: .*such as qwen-facts"):
        CHAT_FORMATS.get(f"{name}{SUFFIX}")


@pytest.mark.parametrize("name", ["hermes", "json", "qwen-facts"])
def test_an_action_format_without_plain_answers_refuses_them_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"the format '{name}' takes no facts"):
        FORMATS.get(f"{name}{SUFFIX}")


@pytest.mark.parametrize(
    "form",
    [CompactFormat(), OpaqueFormat(), PlannerFormat(CompactFormat(), name="planner"), FactsFormat(QwenFormat())],
)
def test_a_format_that_takes_no_facts_cannot_be_given_them(form: Any) -> None:
    with pytest.raises(ConfigError, match=rf"the format '{form.name}' takes no facts"):
        FactsFormat(form)


def test_every_format_with_plain_answers_has_a_twin_with_facts() -> None:
    plain = [name for name in CHAT_FORMATS if CHAT_FORMATS.get(name).plain_answers]
    assert sorted(WITH_FACTS) == sorted(name + SUFFIX for name in plain)
    assert [CHAT_FORMATS.get(name).name for name in WITH_FACTS] == WITH_FACTS
