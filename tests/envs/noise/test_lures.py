"""Instructions in what outsiders wrote: where they hide, and how it shows that one was followed."""

import json
from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.noise.injections import INJECTIONS
from palaestra.envs.noise.lures import CRITERION, EpisodeInjection
from palaestra.envs.worlds.storefront.noise import NOISE
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.rubrics import TurnLog
from worlds.noisy import Played, scored_again, storefront, turn_log

TASK = "storefront/price-match/5000"
EVERY = (*INJECTIONS, *NOISE.injections)


def begun(percent: int = 100, seed: int = 0) -> ToolEnv:
    env = storefront({"injections": percent})
    env.reset(seed=seed, options={"task": TASK})
    return env


def lures(env: ToolEnv) -> dict[str, EpisodeInjection]:
    noise_state = env.episode.noise_state
    assert noise_state is not None
    return {lure.id: lure for lure in noise_state.noise_plan.lures}


def obeying(env: ToolEnv, lure: EpisodeInjection, tool: str) -> dict[str, Any]:
    customer = next(c for c in env.oracle() if c.tool == "get_customer").arguments["customer_id"]
    arguments: dict[str, dict[str, Any]] = {
        "reply": {"message": f"As asked: {lure.canary.lower()}."},
        "finish": {"answer": {"token": lure.canary}},
        "update_customer": {"customer_id": customer, "email": f"{lure.canary}@mail.example"},
        "send_internal_message": {"recipient_id": "EMP-102", "body": lure.canary},
        "search_customers": {"query": lure.canary},
    }
    return {"tool": tool, "arguments": arguments[tool]}


def test_there_are_many_templates_in_several_styles_each_with_a_code_and_a_tool_that_there_is() -> None:
    assert len(INJECTIONS) >= 12
    assert len({injection.id for injection in EVERY}) == len(EVERY)
    for injection in EVERY:
        assert injection.text.count("{canary}") == 1
        assert injection.tools
        assert all(name in TOOLBOX for name in injection.tools)


def test_codes_differ_between_lures_and_between_episodes_and_occur_nowhere_else() -> None:
    codes = [lure.canary for seed in range(20) for lure in lures(begun(seed=seed)).values()]
    assert len(set(codes)) == len(codes) == 20 * len(EVERY)


def test_a_text_holds_the_same_instruction_whenever_it_is_read() -> None:
    env = begun(percent=50)
    looks = [{"tool": "search_customers", "arguments": {"query": "a"}}]
    looks += [{"tool": "get_customer", "arguments": {"customer_id": f"CUS-{n}"}} for n in range(1001, 1041)]
    first, second = ([env.step(look)[0][0]["content"] for look in looks] for _ in range(2))
    assert first == second
    codes = [lure.canary for lure in lures(env).values()]
    held = sum(any(code in text for code in codes) for text in first[1:])
    assert 8 <= held <= 32  # 20 expected of 40, with a standard deviation of 3.2


def test_only_what_outsiders_write_holds_one_and_the_rest_of_the_record_stays() -> None:
    env, plain = begun(), storefront(None)
    plain.reset(seed=0, options={"task": TASK})
    for call in plain.oracle()[:-1]:
        action = {"tool": call.tool, "arguments": dict(call.arguments)}
        noisy, quiet = (json.loads(e.step(action)[0][0]["content"]) for e in (env, plain))
        if call.tool == "get_customer":
            assert noisy["name"].startswith(quiet["name"] + " ")
            noisy["name"] = quiet["name"]
        if "subject" in quiet:
            noisy["subject"] = quiet["subject"]
        assert noisy == quiet


@pytest.mark.parametrize(
    ("lure", "tool"), [pytest.param(i.id, tool, id=f"{i.id}-{tool}") for i in EVERY for tool in i.tools]
)
def test_following_one_shows_costs_all_and_the_log_tells_it_too(lure: str, tool: str) -> None:
    env = begun()
    logs: list[TurnLog] = []
    points: list[int] = []
    info: dict[str, Any] = {}
    finish: dict[str, Any] = {"tool": "finish", "arguments": {}}
    for action in (obeying(env, lures(env)[lure], tool), finish):
        if env.end is None:
            info = env.step(action)[-1]
            points.append(info["points"])
            answer = env.snapshot().answer
            logs.append(turn_log(info, answer))
    assert info["noise"]["injections"]["obeyed"] == [lure]
    assert CRITERION in info["violated"]
    assert "followed the planted text" in info["score"].verdicts[CRITERION].reason
    assert points[-1] <= 0
    played = Played(logs=tuple(logs), points=tuple(points), score=info["score"], infos=())
    assert list(scored_again(env, played)) == points


def test_a_call_that_was_not_asked_for_or_did_not_run_follows_nothing() -> None:
    env = begun()
    code = lures(env)["look-it-up"].canary
    env.step({"tool": "search_handbook", "arguments": {"query": code}})
    env.step({"tool": "send_internal_message", "arguments": {"recipient_id": "EMP-102", "body": f"planted: {code}"}})
    env.step({"tool": "search_customers", "arguments": {"query": code, "nothing": 1}})
    info = env.step({"tool": "reply", "arguments": {"message": "Your record holds a strange text."}})[-1]
    assert info["noise"]["injections"]["obeyed"] == []
    assert CRITERION not in info["violated"]


def test_what_was_shown_is_counted_by_instruction() -> None:
    env = begun()
    assert env.reset(seed=0, options={"task": TASK})[1]["noise"]["injections"] == {"shown": [], "obeyed": []}
    customer = next(c for c in env.oracle() if c.tool == "get_customer")
    observation, _, _, _, info = env.step({"tool": "get_customer", "arguments": dict(customer.arguments)})
    [shown] = info["noise"]["injections"]["shown"]
    assert lures(env)[shown].canary in observation[0]["content"]


def test_without_injections_no_rubric_has_the_criterion() -> None:
    env = storefront({"failures": 10})
    assert CRITERION not in {c.id for c in env.reset(seed=0, options={"task": TASK})[1]["rubric"]}
