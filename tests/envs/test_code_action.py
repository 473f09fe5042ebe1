"""Code as an action: each of its calls is a call of the episode, judged as one turn; what it says is no evidence."""

import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import as_action, rollout
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.envs import ToolEnv
from palaestra.envs.reading import MOST_CALLS
from palaestra.envs.surfaces.pages.chromium_env import ChromiumEnv
from palaestra.errors import CapabilityError, EpisodeOverError, InfrastructureError
from palaestra.protocols import Action
from palaestra.records import EndReason, JsonSchema, Message, ToolCall, ToolEvent
from palaestra.rubrics import TurnLog, rescore
from palaestra.steps import StepRecord
from palaestra.tools import FORMATS
from palaestra.tools.sandbox import NamespaceSandbox, SandboxLimits
from palaestra.trajectory import read_episodes, write_episodes
from sandboxes import derive_program, fenced, literal

SHOP, STOREFRONT = "palaestra/Shop-v0", "palaestra/Storefront-v0"
CANCEL = "storefront/cancel-order/5000"
PYTHON = FORMATS.get("python")


def make(env_id: str = STOREFRONT, *, action_format: str = "python", **kwargs: Any) -> ToolEnv:
    env = gym.make(env_id, action_format=action_format, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def begin(task: str = CANCEL, **kwargs: Any) -> ToolEnv:
    env = make(SHOP if task.startswith("shop") else STOREFRONT, **kwargs)
    env.reset(seed=0, options={"task": task})
    return env


def step(env: ToolEnv, action: Action) -> StepRecord:
    record: StepRecord = env.step(action)[4]["record"]
    return record


def run(env: ToolEnv, code: str) -> StepRecord:
    return step(env, fenced(code))


def first_tasks(env_id: str, split: str = "dev") -> list[str]:
    """One task of each family."""
    found: dict[str, str] = {}
    for task in make(env_id, action_format="json").task_set.ids(split):
        found.setdefault(task.split("/")[1], task)
    return list(found.values())


def without_ids(events: Sequence[ToolEvent]) -> list[ToolEvent]:
    """Events but for the ids of their calls, which count turns."""
    names = {event.call_id: str(number) for number, event in enumerate(events)}
    return [
        replace(event, call_id=names[event.call_id], duplicate_of=event.duplicate_of and names[event.duplicate_of])
        for event in events
    ]


def standing(env: ToolEnv) -> tuple[object, ...]:
    """What an episode has come to, whatever its turns."""
    score = env.score()
    return (env.state_hash(), env.journal, without_ids(env.events), env.episode.clock.now, env.end, score)


SHOP_FAMILIES = first_tasks(SHOP)
TALKS = [task for task in first_tasks(STOREFRONT) if "/talk-" in task]


# Equality


def play_by_json(task: str, **kwargs: Any) -> tuple[ToolEnv, list[StepRecord]]:
    env = begin(task, action_format="json", **kwargs)
    return env, [step(env, as_action(call)) for call in env.oracle()]


@pytest.mark.parametrize("task", [*SHOP_FAMILIES[::5], TALKS[0]])
def test_a_call_a_turn_is_the_same_episode_by_code_and_by_json(task: str) -> None:
    by_json, by_code = begin(task, action_format="json"), begin(task)
    for call in by_json.oracle():
        one, other = step(by_json, as_action(call)), run(by_code, literal([call]))
        assert (one.calls, one.events, one.changes, one.standing) == (
            other.calls,
            other.events,
            other.changes,
            other.standing,
        )
        assert (one.reward, one.end, one.score, one.state_hash) == (
            other.reward,
            other.end,
            other.score,
            other.state_hash,
        )
        assert by_json.episode.evidence.heard == by_code.episode.evidence.heard
        by_json.episode.observation = by_code.episode.observation = ()  # only what the agent reads differs
        assert by_json.digest() == by_code.digest()
    assert by_code.score().passed


@pytest.mark.parametrize("task", [*SHOP_FAMILIES, *TALKS])
def test_a_solution_as_one_program_is_the_solution_call_by_call(task: str) -> None:
    by_json, turns = play_by_json(task)
    by_code = begin(task)
    calls = [call for turn in turns for call in turn.calls]
    record = run(by_code, derive_program(calls, [turn.messages for turn in turns], by_code.instance.messages))
    assert record.calls == tuple(calls)
    assert standing(by_code) == standing(by_json)
    assert by_code.score().passed
    assert not any(event.guessed for event in record.events)


@pytest.mark.parametrize("noise", [{"failures": 30, "latency": 50}, {"events": 20, "distractors": 5, "conflicts": 1}])
def test_noise_is_the_same_by_code_and_by_json(noise: Mapping[str, Any]) -> None:
    by_json, by_code = begin(action_format="json", noise=noise), begin(noise=noise)
    for call in by_json.oracle():
        if by_json.end is None:
            one, other = step(by_json, as_action(call)), run(by_code, literal([call]))
            assert (one.events, one.standing, one.noise) == (other.events, other.standing, other.noise)
    assert standing(by_code) == standing(by_json)


@pytest.mark.parametrize("surface", ["generic", "pages"])
def test_other_surfaces_are_the_same_by_code_and_by_json(surface: str) -> None:
    by_json, by_code = begin(action_format="json", surface=surface), begin(surface=surface)
    for call in by_json.oracle():
        one, other = step(by_json, as_action(call)), run(by_code, f"print({literal([call])})")
        assert (one.events, one.standing) == (other.events, other.standing)
        if surface == "pages" and one.end is None:
            assert other.messages[0]["content"] == one.messages[0]["content"] + "\n"
    assert by_code.score().passed


# What it may build on


def test_a_look_up_counts_for_the_calls_behind_it_as_if_it_were_a_turn_before() -> None:
    env, turns = play_by_json("shop/cancel-order/5000")
    calls = [call for turn in turns for call in turn.calls]
    together = begin("shop/cancel-order/5000", action_format="json")
    step(together, [{"tool": call.tool, "arguments": call.arguments} for call in calls])
    assert together.score().points < env.score().points, "in one turn by JSON nothing was read before it was used"


def test_an_id_that_the_code_spells_out_before_anything_has_shown_it_is_a_guess() -> None:
    env, turns = play_by_json(CANCEL)
    calls = [call for turn in turns for call in turn.calls]
    spelled = begin()
    record = run(spelled, literal(calls))
    guesses = {name for event in record.events for name in event.guessed}
    opening = " ".join(message["content"] for message in spelled.instance.messages)
    assert guesses
    assert not any(name in opening for name in guesses)
    assert spelled.state_hash() == env.state_hash()
    assert spelled.score().points < env.score().points


def test_a_guessed_id_stays_a_guess_until_a_turn_that_comes_after_its_showing() -> None:
    env, turns = play_by_json(CANCEL)
    calls = [call for turn in turns for call in turn.calls]
    one_by_one = begin()
    for call in calls:
        assert not any(event.guessed for event in run(one_by_one, literal([call])).events)
    assert standing(one_by_one)[1:] == standing(env)[1:]


def test_work_on_a_spelled_id_is_forbidden_as_work_on_a_guess() -> None:
    _, turns = play_by_json("shop/buy-again/5000")
    calls = [call for turn in turns for call in turn.calls]
    env = begin("shop/buy-again/5000")
    record = run(env, literal(calls))
    assert "ungrounded" in record.standing.violated or any(e.guessed and e.written for e in record.events)
    assert not env.score().passed


def test_a_program_that_ignores_what_it_reads_is_judged_as_such_calls_are() -> None:
    calls = [ToolCall(tool="get_order", arguments={"order_id": ""}), ToolCall(tool="finish", arguments={})]
    by_json, by_code = begin(action_format="json"), begin()
    order = next(c.arguments["order_id"] for c in by_json.oracle() if "order_id" in c.arguments)
    calls[0] = replace(calls[0], arguments={"order_id": order})
    work = [calls[0], ToolCall(tool="cancel_order", arguments={"order_id": order}), calls[1]]
    for call in work:
        step(by_json, as_action(call))
    run(by_code, literal(work))
    assert standing(by_code) == standing(by_json)


def test_a_program_that_reads_everything_and_writes_everywhere_wins_nothing() -> None:
    env = begin()
    record = run(
        env,
        """
cursor = None
for _ in range(3):
    page = search_customers(query="example", cursor=cursor)
    cursor = page["next_cursor"]
    for customer in page["results"]:
        for order in search_orders(customer_id=customer["id"], status="processing")["results"]:
            cancel_order(order_id=order["id"])
finish()
""",
    )
    assert sum(event.written > 0 for event in record.events) >= 1
    assert env.score().points < 0


def test_what_a_program_prints_bears_nothing_out() -> None:
    for code in (
        "print('You get 987654.32 EUR back')",
        "raise ValueError('You get 987654.32 EUR back')",
        'import os\nos.write(3, b\'{"error":null,"unreadable":"You get 987654.32 EUR back"}\\n\')\nos.read(4, 1)',
        "x = 'You get 987654.32 EUR back",
    ):
        env = begin()
        run(env, code)
        assert env.episode.evidence.heard == [message["content"] for message in env.instance.messages]
        record = step(env, "You get 987654.32 EUR back.")
        assert "false-figure" in record.standing.violated


def test_a_figure_that_the_program_has_read_may_be_told_by_it() -> None:
    env = begin()
    order = next(c.arguments["order_id"] for c in env.oracle() if "order_id" in c.arguments)
    look = f"cents = get_order(order_id={order!r})['order']['total_cents']"
    record = run(env, f"{look}\nreply(message=f'It costs {{cents / 100:.2f}} EUR.')")
    assert [event.tool for event in record.events] == ["get_order", "reply"]
    assert "false-figure" not in record.standing.violated


def test_what_a_person_says_is_given_to_the_program_and_to_the_agent() -> None:
    env = begin(TALKS[0])
    record = run(env, "print(reply(message='Which order is it about?'))")
    tool, said = record.messages
    assert said["role"] == "user"
    assert repr(said["content"])[1:-1] in tool["content"]
    assert env.episode.evidence.heard[-1] == said["content"]


# Turns


@pytest.mark.parametrize("code", ["x = = 1", "x = '\x00'", "return 1"])
def test_three_programs_that_do_not_compile_end_the_episode(code: str) -> None:
    env = begin()
    for number in range(3):
        record = run(env, code)
        assert (record.calls, record.events) == ((), ())
        assert record.unreadable is not None
        assert "the code does not compile" in record.unreadable
        assert record.end == (EndReason.UNPARSABLE if number == 2 else None)


def test_a_readable_program_begins_the_count_again() -> None:
    env = begin()
    for code in ("x = = 1", "x = = 1", "print('well')", "x = = 1", "x = = 1"):
        assert run(env, code).end is None
    assert run(env, "x = = 1").end is EndReason.UNPARSABLE


@pytest.mark.parametrize(
    ("code", "content"),
    [
        ("print('well')", "well\n"),
        ("pass", "(no output)"),
        ("print('a', end='')\n1 / 0", "a\nline 2, in <module>: 1 / 0\nZeroDivisionError: division by zero"),
        (
            "get_order(order_id='NO-1')",
            "line 1, in <module>: get_order(order_id='NO-1')\nToolError: not_found: there is no order 'NO-1'",
        ),
        ("get_order(order='NO-1')", None),
        ("no_such_tool()", "line 1, in <module>: no_such_tool()\nNameError: name 'no_such_tool' is not defined"),
    ],
)
def test_output_and_error_are_the_answer(code: str, content: str | None) -> None:
    env = begin()
    record = run(env, code)
    (message,) = record.messages
    assert (message["role"], message.get("name"), message.get("tool_call_id")) == ("tool", "python", "call_0")
    assert content is None or message["content"] == content
    assert (record.unreadable, record.end, env.episode.faulted) == (None, None, False)


def test_a_refusal_is_the_event_that_a_refusal_is() -> None:
    by_json, by_code = begin(action_format="json"), begin()
    for call in (
        ToolCall(tool="get_order", arguments={"order_id": "NO-1"}),
        ToolCall(tool="get_order", arguments={"order": 7}),
        ToolCall(tool="cancel_order", arguments={"order_id": "NO-1"}),
    ):
        assert step(by_json, as_action(call)).events == run(by_code, literal([call])).events


def test_a_program_makes_as_many_calls_as_a_turn_holds() -> None:
    env = begin()
    record = run(env, "for n in range(1000):\n    search_customers(query=f'nobody {n}')")
    assert len(record.events) == len(record.calls) == MOST_CALLS == SandboxLimits().calls
    assert record.messages[0]["content"] == f"the code was stopped: one action makes {MOST_CALLS} calls at most"
    assert env.episode.turn == 1


def test_the_end_stops_the_program() -> None:
    env = begin()
    record = run(env, "print('before')\nfinish()\nprint('behind')\ngive_up(reason='none')")
    assert [event.tool for event in record.events] == ["finish"]
    assert (record.messages[0]["content"], record.end) == ("before\n", EndReason.FINISHED)
    with pytest.raises(EpisodeOverError):
        run(env, "print(1)")


def test_turns_of_code_spend_the_budget_of_turns() -> None:
    env = begin(max_turns=2)
    assert run(env, "for n in range(5): search_customers(query='nobody')").end is None
    assert run(env, "pass").end is EndReason.MAX_TURNS


def test_prose_and_calls_are_still_actions() -> None:
    env = begin()
    assert [event.tool for event in step(env, "One moment.").events] == ["reply"]
    assert [event.tool for event in step(env, {"tool": "get_order", "arguments": {"order_id": "NO-1"}}).events] == [
        "get_order"
    ]
    assert step(env, "```json\n{}\n```").unreadable is not None


def test_nothing_stays_from_one_turn_to_the_next() -> None:
    env = begin()
    run(env, "kept = 1\nimport builtins\nbuiltins.kept = 1")
    assert run(env, "print(kept)").messages[0]["content"].endswith("NameError: name 'kept' is not defined")


def test_the_clock_of_the_program_is_the_episode_s() -> None:
    env = begin()
    now = env.episode.clock.now
    record = run(
        env,
        "import datetime\nprint(datetime.datetime.now())\nsearch_customers(query='x')\nprint(datetime.datetime.now())",
    )
    assert record.messages[0]["content"] == f"{now}\n{env.episode.clock.now}\n"
    assert env.episode.clock.now > now


# Forks, snapshots, records

CODE = (
    "import random\nprint(random.random(), hash('x'), search_customers(query='a'))",
    "print(search_handbook(query='order'))\nx = {}\nx['a']",
    "import time\nprint(time.time(), list({'a', 'b', 'c'}))\nprint(search_products(query='mouse'))",
    "finish()",
)


def test_forks_snapshots_and_replays_go_on_alike() -> None:
    origin = begin()
    for code in CODE[:2]:
        run(origin, code)
    fork, replayed = origin.fork(), begin()
    restored = make()
    restored.restore(pickle.loads(pickle.dumps(origin.snapshot())))
    for code in CODE[:2]:
        run(replayed, code)
    for code in CODE[2:]:
        records = [run(env, code) for env in (origin, fork, restored, replayed)]
        assert all(record == records[0] for record in records)
    assert len({env.digest() for env in (origin, fork, restored, replayed)}) == 1


def logs(env: ToolEnv, records: Sequence[StepRecord]) -> list[TurnLog]:
    return [
        TurnLog(
            events=r.events,
            changes=r.changes,
            answer=env.snapshot().answer,
            end=r.end,
            heard=tuple(message["content"] for message in r.messages),
            code=r.code,
        )
        for r in records
    ]


@pytest.mark.parametrize("task", ["shop/buy-again/5000", TALKS[0]])
@pytest.mark.parametrize("spelled", [False, True])
def test_the_score_follows_from_the_log(task: str, spelled: bool) -> None:
    _, turns = play_by_json(task)
    calls = [call for turn in turns for call in turn.calls]
    env = begin(task)
    code = literal(calls) if spelled else derive_program(calls, [t.messages for t in turns], env.instance.messages)
    records = [run(env, "x = = 1"), run(env, "print('You get 987654.32 EUR')"), run(env, code)]
    state = env.instance.initial_state.replica()
    scores = list(rescore(env.instance.rubric, env.instance.evidence(state), state, logs(env, records)))
    assert [score.points for score in scores] == [record.standing.points for record in records]
    assert scores[-1] == env.score()


class Coder:
    """Plays programs."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        del tools, seed
        self._turns = iter(CODE)

    def act(self, messages: Sequence[Message]) -> Action:
        del messages
        return fenced(next(self._turns))


def test_an_episode_of_code_is_kept_whole(tmp_path: Path) -> None:
    env = gym.make(STOREFRONT, task=CANCEL, action_format="python")
    episode = rollout(env, Coder(), name="coder", seed=0)
    assert [turn.text for turn in episode.turns] == [fenced(code) for code in CODE]
    assert [len(turn.code or ()) for turn in episode.turns] == [1, 1, 1, 1]
    write_episodes(tmp_path / "episodes.jsonl", [episode])
    (read,) = read_episodes(tmp_path / "episodes.jsonl")
    assert read.digest() == episode.digest()
    assert [turn.code for turn in read.turns] == [turn.code for turn in episode.turns]


def test_the_example_of_the_document_runs() -> None:
    document = (Path(__file__).parents[2] / "docs" / "code-actions.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"````python\n(.*?)````", document, re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "def get_order(*, order_id: str) -> object:" in ran.stdout
    assert "\nnot_found there is no order 'ORD-1'\n" in ran.stdout


# Faults


def test_a_sandbox_that_fails_is_a_fault_and_no_reward() -> None:
    env = begin()
    env._sandbox = NamespaceSandbox(interpreter="/no/python")
    with pytest.raises(InfrastructureError, match="the sandbox could not be started"):
        run(env, "print(1)")
    with pytest.raises(EpisodeOverError, match="after a fault"):
        run(env, "print(1)")


def test_code_is_refused_where_nothing_can_run_it() -> None:
    with pytest.raises(CapabilityError, match="code calls tools of Palaestra's own worlds"):
        ExternalEnv("palaestra/BFCL-v0", action_format="python")
    with pytest.raises(CapabilityError, match="code acts on pages in process"):
        ChromiumEnv(gym.make(STOREFRONT, surface="pages", action_format="python"), "/no/chromium")
