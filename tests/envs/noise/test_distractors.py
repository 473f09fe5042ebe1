"""Tools of other departments: real, harmless, and drawn by the seed."""

import json
from typing import Any, cast

import pytest

from palaestra.envs.noise.distractors import departments
from palaestra.envs.noise.noise import MOST
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.seeding import Stream
from palaestra.tools import Tool, sample_call
from worlds.noisy import storefront

TASK = "storefront/price-match/5000"
TOOLS = [pytest.param(tool, id=tool.name) for tool in departments()]


def names(noise: dict[str, Any], seed: int) -> list[str]:
    env = storefront(noise)
    info = env.reset(seed=seed, options={"task": TASK})[1]
    return [tool["function"]["name"] for tool in info["tools"]]


def test_there_are_as_many_as_the_switch_can_ask_for_and_none_is_the_world_s() -> None:
    found = [tool.name for tool in departments()]
    assert len(set(found)) == len(found) >= MOST["distractors"] >= 40
    assert not set(found) & {tool.name for tool in TOOLBOX}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_distractor_answers_from_its_arguments_alone_and_touches_nothing(tool: Tool) -> None:
    assert not tool.references
    assert not tool.writes
    env = storefront({"distractors": MOST["distractors"]})
    seed = next(s for s in range(50) if tool.name in names({"distractors": MOST["distractors"]}, s))
    env.reset(seed=seed, options={"task": TASK})
    rows, stream, answers = env.state_hash(), Stream.root("t", tool.name), set[str]()
    for _ in range(12):
        call = sample_call([tool], stream)
        observation, reward, _, _, info = env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        [event] = info["events"]
        assert event.error in {None, "bad_date", "bad_period"}, observation[0]["content"]
        assert (reward, event.written, event.shown, event.mentioned) == (0.0, 0, (), frozenset())
        answers.add(observation[0]["content"])
        assert isinstance(json.loads(observation[0]["content"]), dict)
    assert env.state_hash() == rows
    assert len(answers) > 1 or not tool.parameters["properties"]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("count_leave_days", {"first_day": "2026-02-06", "last_day": "2026-02-09"}, {"working_days": 2}),
        ("travel_per_diem", {"first_day": "2026-02-06", "last_day": "2026-02-08", "region": "domestic"},
         {"full_days": 1, "allowance_cents": 5_600}),
        ("suggest_meeting_room", {"people": 9}, {"room": "Buche", "seats": 12}),
        ("weekday_of", {"day": "2026-02-06"}, {"weekday": "Friday", "week": 6}),
        ("seating_plan", {"guests": ["A", "B", "C"], "seats_a_table": 2}, {"tables": [["A", "B"], ["C"]]}),
        ("course_groups", {"participants": 10, "largest_group": 4}, {"sizes": [4, 3, 3]}),
        ("refresher_due", {"last_course": "2025-11-03", "every_months": 14}, {"due": "2027-01"}),
        ("hostname_for", {"department": "Legal & Risk", "number": 7}, {"hostname": "kw-legalr-007"}),
    ],
)  # fmt: skip
def test_what_it_answers_is_right(tool: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
    found = next(t for t in departments() if t.name == tool)
    assert found.function(cast("Any", None), **found.validate(arguments)) == answer


def test_so_many_are_added_the_seed_chooses_and_more_hold_fewer() -> None:
    plain = names({"caps": True}, 1)
    few, many, other = (names({"distractors": n}, seed) for n, seed in ((5, 1), (15, 1), (15, 2)))
    assert len(few) == len(plain) + 5
    assert set(plain) < set(few) < set(many)
    assert set(many) != set(other)
    assert few != sorted(few)
    assert [name for name in few if name in plain] != plain
    assert names({"distractors": 15}, 1) == many
