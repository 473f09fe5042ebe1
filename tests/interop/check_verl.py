# verl lives under another Python than the one that checks types; `make interop` runs this file there.
# mypy: disable-error-code="import-not-found, misc, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The adapter for verl: conformance by its agent-loop worker with a scripted engine, and the tokens of rollouts."""

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adapted.conformance import FINISH, AdapterConformance, AdapterOutcome, oracle, play_in_process
from adapted.tokenized import GPT_OSS, QWEN3, ModelFamily
from adapted.verl_rollouts import LOGPROB, VerlRollouts
from adapted.watched import WATCHED_ID, WatchedEnv, register_watched
from palaestra.envs.check.subject import make
from palaestra.errors import ConfigError, InfrastructureError, ReplyError
from palaestra.records import EndReason, ToolCall
from palaestra.tools import FORMATS
from worlds.registration import LIBRARY_ID

pytestmark = pytest.mark.filterwarnings("ignore")  # of verl's own
SOURCE = {"env_id": WATCHED_ID}


def write_turns(turns: Sequence[Sequence[ToolCall]], family: ModelFamily = QWEN3) -> list[str]:
    """Turns as a model of the family writes them."""
    rendered = [FORMATS.get(family.action_format).render(turn) for turn in turns]
    return [text if text.endswith(("<|call|>", family.end)) else text + family.end for text in rendered]


def rewards(batch: Any) -> list[float]:
    """The sum of the rewards of each rollout's tokens. Any: a `DataProto`."""
    return [float(reward) for reward in batch.batch["rm_scores"].sum(dim=-1)]


@pytest.fixture(autouse=True)
def _registered() -> None:
    register_watched()


class TestVerl(AdapterConformance):
    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        limit = {"multi_turn.max_assistant_turns": len(turns)}
        with tempfile.TemporaryDirectory() as folder:
            source = {**SOURCE, "switches": switches}
            rollouts = VerlRollouts(Path(folder), source, {seed: write_turns(turns)}, rollout=limit)
            try:
                [reward] = rewards(rollouts.play())
            except InfrastructureError:
                return AdapterOutcome(reward=None, read=rollouts.engine.read)
            return AdapterOutcome(reward=reward, read=rollouts.engine.read)


@pytest.mark.parametrize("family", [QWEN3, GPT_OSS], ids=lambda family: family.template)
def test_the_tokens_of_a_rollout_are_those_that_engine_and_policy_saw(tmp_path: Path, family: ModelFamily) -> None:
    """The policy's tokens have mask 1 and their own log-probabilities, and each prompt continues the one before."""
    calls = oracle(LIBRARY_ID, 0)
    source = {**SOURCE, "switches": {"action_format": family.action_format}}
    turns = [calls[:2], *([call] for call in calls[2:])]
    rollouts = VerlRollouts(tmp_path, source, {0: write_turns(turns, family)}, family=family)
    batch = rollouts.play()
    assert rewards(batch) == [play_in_process(LIBRARY_ID, 0, turns).points / 100]
    engine, [mask], [logprobs] = rollouts.engine, batch.batch["response_mask"], batch.batch["rollout_log_probs"]
    [response], [prompt] = batch.batch["responses"], batch.batch["prompts"]
    assert response[mask == 1].tolist() == list(itertools.chain.from_iterable(engine.drawn))
    assert set(logprobs[mask == 1].tolist()) == {LOGPROB}
    assert set(logprobs[mask == 0].tolist()) == {0.0}
    stream = [*prompt.tolist()[-len(engine.asked[0]) :], *response.tolist()]
    for asked, drawn in zip(engine.asked, engine.drawn, strict=True):
        assert stream[: len(asked) + len(drawn)] == asked + drawn
    seen = len(engine.asked[-1]) + len(engine.drawn[-1])
    assert int(batch.batch["attention_mask"].sum()) == seen, "nothing stands behind the last turn"


def test_the_prompt_is_what_the_chat_template_gives(tmp_path: Path) -> None:
    env = make(LIBRARY_ID)
    _, info = env.reset(seed=0)
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: write_turns([[FINISH]])})
    rollouts.play()
    [row], tokenizer = rollouts.rows, rollouts.engine.tokenizer
    rendered = tokenizer.apply_chat_template(
        row["prompt"], tools=list(info["tools"]), add_generation_prompt=True, tokenize=False
    )
    assert tokenizer.decode(rollouts.engine.asked[0]) == rendered


def test_a_tool_that_answers_is_named_where_the_chat_template_names_it(tmp_path: Path) -> None:
    calls = oracle(LIBRARY_ID, 0)
    source = {**SOURCE, "switches": {"action_format": "gpt-oss"}}
    turns = write_turns([[calls[0]], [FINISH]], GPT_OSS)
    rollouts = VerlRollouts(tmp_path, source, {0: turns}, family=GPT_OSS)
    rollouts.play()
    assert f"functions.{calls[0].tool} to=assistant" in rollouts.engine.read


@pytest.mark.parametrize(
    "text",
    [
        "I shall look that up.",
        '<tool_call>\n{"name": "get_member", "arguments": {\n</tool_call>',
        '<tool_call>\n{"name": "get_member", "arguments": {"member_id": "MEM-1"}}',
        "<think>\nHm.\n</think>\n\n" + '<tool_call>\n{"name": "no_such_tool", "arguments": {}}\n</tool_call>',
        "",
    ],
    ids=["prose", "no JSON", "no end", "no such tool", "empty"],
)
def test_text_of_any_kind_is_read_as_in_process(tmp_path: Path, text: str) -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=2)
    finish = write_turns([[FINISH]])
    for said in (text, finish[0].removesuffix(QWEN3.end)):
        if env.end is None:
            env.step(said)
    WatchedEnv.latest.clear()
    rollouts = VerlRollouts(tmp_path, SOURCE, {2: [text + QWEN3.end, *finish]})
    [reward] = rewards(rollouts.play())
    [played] = [env for env in WatchedEnv.latest if env.steps]
    assert played.ended == (env.digest(), env.score().points)
    assert reward == pytest.approx(env.score().points / 100)


def test_a_turn_that_fills_the_response_is_not_played(tmp_path: Path) -> None:
    """The policy's tokens are cut off at the limit, and the episode is judged as unfinished without the turn."""
    calls = [[call] for call in oracle(LIBRARY_ID, 0)]
    turns = write_turns(calls)
    whole = VerlRollouts(tmp_path, SOURCE, {0: turns})
    length = int(whole.play().batch["attention_mask"].sum()) - len(whole.engine.asked[0])
    WatchedEnv.latest.clear()
    short = VerlRollouts(tmp_path, SOURCE, {0: turns}, rollout={"response_length": length - 3})
    batch = short.play()
    expected = play_in_process(LIBRARY_ID, 0, calls[:-1])
    assert rewards(batch) == pytest.approx([expected.points / 100])
    assert batch.batch["responses"].shape == (1, length - 3)
    [played] = [env for env in WatchedEnv.latest if env.steps]
    assert (played.steps, played.ended[0]) == (len(calls) - 1, expected.digest)


def test_an_answer_that_does_not_fit_ends_the_rollout_behind_the_turn(tmp_path: Path) -> None:
    calls = [[call] for call in oracle(LIBRARY_ID, 0)]
    turns = write_turns(calls)
    whole = VerlRollouts(tmp_path, SOURCE, {0: turns})
    whole.play()
    first = len(whole.engine.drawn[0])
    short = VerlRollouts(tmp_path, SOURCE, {0: turns}, rollout={"response_length": first + 5})
    batch = short.play()
    assert int(batch.batch["response_mask"].sum()) == first
    assert rewards(batch) == pytest.approx([play_in_process(LIBRARY_ID, 0, calls[:1]).points / 100])


def test_each_rollout_of_a_batch_is_an_episode_of_its_own(tmp_path: Path) -> None:
    turns = {seed: write_turns([[call] for call in oracle(LIBRARY_ID, seed)]) for seed in (0, 1)}
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: turns[0], 1: write_turns([[FINISH]])})
    batch = rollouts.play(repeats=3)
    left = play_in_process(LIBRARY_ID, 1, [[FINISH]]).points / 100
    assert rewards(batch) == pytest.approx([1.0, 1.0, 1.0, left, left, left])
    assert batch.non_tensor_batch["__num_turns__"].tolist() == [2 * len(turns[0])] * 3 + [2] * 3


def test_a_turn_that_the_engine_gives_up_makes_the_rollout_void(tmp_path: Path) -> None:
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: write_turns([[FINISH]])})
    rollouts.engine.stop_reason = "aborted"
    with pytest.raises(ReplyError, match="does not count"):
        rollouts.play()


def test_a_prompt_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: write_turns([[FINISH]])}, rollout={"prompt_length": 100})
    with pytest.raises(ConfigError, match=r"rollout\.prompt_length=100"):
        rollouts.play()
    assert rollouts.engine.asked == []


def test_a_row_of_another_episode_is_refused(tmp_path: Path) -> None:
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: write_turns([[FINISH]])})
    rollouts.rows[0]["extra_info"]["seed"] = 1
    with pytest.raises(ConfigError, match="opens another episode"):
        rollouts.play()


def test_rows_hold_no_secret(tmp_path: Path) -> None:
    env = make(LIBRARY_ID)
    env.reset(seed=0)
    rollouts = VerlRollouts(tmp_path, SOURCE, {0: write_turns([[FINISH]])})
    written = str(rollouts.rows)
    assert [secret for secret in (env.task.id, env.task.family, env.digest()) if secret in written] == []
    assert env.score(EndReason.TOKEN_BUDGET).points == 0
