"""A word is an agent, or a clear sentence; the oracle solves and the floors do not."""

import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash.loops import run, sft_loop
from engines.interpreter import vllm_python
from palaestra.benchmarks.evaluation.agents import AGENT_NAMES, AgentOptions, evaluated_agent_of
from palaestra.benchmarks.evaluation.agents.policy import episode_cost
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.evaluation.results import Results, read_results
from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.errors import CheckpointError, ConfigError, UnknownNameError
from palaestra.records import EndReason
from palaestra.trainers import Policy, load_policy
from worlds.registration import LIBRARY_ID

SUITE = suite_of("storefront", SuiteOptions(split="dev", limit=6))


def play(word: str, folder: Path, *, suite: Suite = SUITE, samples: int = 1, **options: Any) -> Results:
    with evaluated_agent_of(word, AgentOptions(**options)) as evaluated_agent:
        settings = settings_of(evaluated_agent, suite, samples=samples, seed=0)
        with Journal(folder, settings) as journal:
            return evaluate(evaluated_agent, journal, PlayOptions(concurrency=4), say=list[str]().append)


def test_the_oracle_solves_everything(tmp_path: Path) -> None:
    found = play("oracle", tmp_path)
    assert [outcome.points for outcome in found.outcomes] == [100] * 6
    assert all(outcome.solved and not outcome.harmed for outcome in found.outcomes)


def test_the_oracle_is_patient_with_a_world_that_is_busy(tmp_path: Path) -> None:
    busy = suite_of("storefront", SuiteOptions(split="dev", limit=6, switches={"noise": {"failures": 20}}))
    found = play("oracle", tmp_path, suite=busy)
    assert all(outcome.solved for outcome in found.outcomes)
    assert sum(outcome.refused for outcome in found.outcomes) > 0


@pytest.mark.parametrize("word", sorted(set(AGENT_NAMES) - {"oracle", "victim"}))
def test_a_floor_solves_nothing_and_does_the_same_again(word: str, tmp_path: Path) -> None:
    found = play(word, tmp_path / "one")
    assert not any(outcome.solved or outcome.fault for outcome in found.outcomes)
    assert play(word, tmp_path / "other") == found


def test_a_victim_of_nothing_plays_the_solution(tmp_path: Path) -> None:
    assert all(outcome.solved for outcome in play("victim", tmp_path).outcomes)


def test_what_a_floor_does_wrong_is_counted(tmp_path: Path) -> None:
    idle = play("no-op", tmp_path / "no-op").outcomes
    assert [(outcome.turns, outcome.invalid, outcome.calls, outcome.end) for outcome in idle] == [
        (3, 3, 0, "unparsable")
    ] * 6
    random = play("schema-random", tmp_path / "random").outcomes
    assert sum(outcome.refused for outcome in random) > 0
    assert all(outcome.invalid == 0 for outcome in random), "its calls fit their schemas"


@pytest.mark.parametrize(
    ("word", "options", "error", "said"),
    [
        ("orcale", {}, UnknownNameError, "unknown agent 'orcale'; did you mean 'oracle'?"),
        ("runs/none", {}, CheckpointError, "runs/none holds no config.json, so it is no checkpoint"),
        ("endpoint", {}, ConfigError, "--base-url is missing"),
        ("endpoint", {"base_url": "http://127.0.0.1:1/v1"}, ConfigError, "--model is missing"),
        ("endpoint", {"base_url": "nowhere", "model": "m"}, ConfigError, "base_url='nowhere' is no address"),
        ("oracle", {"model": "m"}, ConfigError, "oracle asks none"),
        ("oracle", {"engine": "vllm"}, ConfigError, "--engine says what draws a checkpoint's tokens"),
    ],
)
def test_a_mistake_is_told(word: str, options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as told:
        evaluated_agent_of(word, AgentOptions(**options))
    assert said in str(told.value)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small policy that has seen the library's oracle."""
    directory = tmp_path_factory.mktemp("policy")
    policy: Policy = run(sft_loop(), directory / "sft").policy
    (directory / "policy").mkdir()
    policy.save(directory / "policy")
    return directory / "policy"


LENT = Cell(id="lent", label="lent", env_id=LIBRARY_ID, tasks=("library/lend-book/7000", "library/renew-loan/7000"))
LIBRARY = Suite(name="library", title="library", cells=(LENT,))
SMALL = {"context": 400, "turn": 24, "rows": 3}


def test_a_policy_plays_and_its_tokens_are_counted(checkpoint: Path, tmp_path: Path) -> None:
    found = play(str(checkpoint), tmp_path / "one", suite=LIBRARY, samples=4, **SMALL)
    assert len(found.outcomes) == 8
    assert {outcome.fault for outcome in found.outcomes} == {None}
    for outcome, episode in zip(found.outcomes[::4], found.episodes, strict=True):
        (segment,) = episode.segments
        assert segment.tokens is not None
        assert outcome.completion_tokens == sum(segment.tokens.sampled) == episode_cost(episode).completion_tokens
        first = segment.tokens.spans[0].start
        assert outcome.prompt_tokens is not None
        assert outcome.prompt_tokens >= outcome.turns * first
    assert play(str(checkpoint), tmp_path / "other", suite=LIBRARY, samples=4, **SMALL) == found


def test_a_policy_is_not_asked_to_read_more_than_it_can(checkpoint: Path) -> None:
    with pytest.raises(ConfigError, match="context=513: the policy reads 512 tokens; give no more"):
        evaluated_agent_of(str(checkpoint), AgentOptions(context=513))


def test_an_opening_without_room_for_a_turn_is_no_zero(checkpoint: Path, tmp_path: Path) -> None:
    lengths = {task: opening(checkpoint, task) for task in LENT.tasks}
    shorter, longer = sorted(lengths, key=lengths.__getitem__)
    assert lengths[shorter] < lengths[longer]
    with pytest.raises(ConfigError, match="each of the first 3 episodes had no room for a turn") as told:
        play(str(checkpoint), tmp_path / "none", suite=LIBRARY, samples=2, context=lengths[shorter], turn=24, rows=3)
    said = re.search(
        r"its prompt has (\d+) tokens in the format compact, and an episode has (\d+) of the 512", str(told.value)
    )
    assert said is not None
    assert int(said[1]) in lengths.values()
    assert int(said[2]) == lengths[shorter]
    assert "--context gives more" in str(told.value)
    assert read_results(tmp_path / "none").outcomes == ()
    some = {"context": lengths[longer], "turn": 24, "rows": 3}
    found = play(str(checkpoint), tmp_path / "some", suite=LIBRARY, samples=2, **some)
    assert [outcome.task for outcome in found.outcomes if outcome.fault is None] == [shorter] * 2
    assert {outcome.fault.kind for outcome in found.outcomes if outcome.fault is not None} == {"context"}
    assert play(str(checkpoint), tmp_path / "some", suite=LIBRARY, samples=2, **some) == found


def opening(checkpoint: Path, task: str) -> int:
    """The tokens that an episode begins with."""
    suite = replace(LIBRARY, cells=(replace(LENT, tasks=(task,)),))
    with tempfile.TemporaryDirectory() as folder:
        (episode,) = play(str(checkpoint), Path(folder) / "run", suite=suite, **SMALL).episodes
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return tokens.spans[0].start


def test_turns_that_a_limit_cuts_off_are_counted(checkpoint: Path, tmp_path: Path) -> None:
    end = load_policy(checkpoint).codec.end_id
    found = play(str(checkpoint), tmp_path, suite=LIBRARY, context=400, turn=3, rows=3)
    for outcome, episode in zip(found.outcomes, found.episodes, strict=True):
        tokens = episode.segments[0].tokens
        assert tokens is not None
        cut = [span for span in tokens.spans if span.kind == "turn" and tokens.ids[span.end - 1] != end]
        assert all(span.end - span.start == 3 for span in cut)
        assert outcome.troubles == {"cut off": len(cut)}


def test_at_temperature_0_the_episodes_of_a_task_are_alike(checkpoint: Path, tmp_path: Path) -> None:
    different: dict[float, int] = {}
    for temperature in (0.0, 4.0):
        found = play(
            str(checkpoint), tmp_path / str(temperature), suite=LIBRARY, samples=4, temperature=temperature, **SMALL
        )
        assert len(found.outcomes) == 8
        different[temperature] = len({str(replace(outcome, sample=0)) for outcome in found.outcomes})
    assert different[0.0] == len(LENT.tasks)
    assert different[4.0] > len(LENT.tasks)


@pytest.mark.parametrize("temperature", [-0.5, float("inf"), float("nan")])
def test_a_temperature_that_no_engine_draws_at_is_refused(checkpoint: Path, temperature: float) -> None:
    with pytest.raises(ConfigError, match="a checkpoint's is a number of 0 or more; 0 takes the likeliest token"):
        evaluated_agent_of(str(checkpoint), AgentOptions(temperature=temperature))


@pytest.mark.parametrize("top_p", [0.0, 1.5, float("nan")])
def test_a_share_that_no_engine_draws_from_is_refused(checkpoint: Path, top_p: float) -> None:
    with pytest.raises(ConfigError, match="a checkpoint's is above 0 and at most 1"):
        evaluated_agent_of(str(checkpoint), AgentOptions(top_p=top_p))


@pytest.mark.parametrize("python", [Path(sys.executable), Path("/nowhere/python"), None])
def test_an_interpreter_without_vllm_is_refused_at_once(checkpoint: Path, python: Path | None) -> None:
    with pytest.raises(ConfigError, match="has no vLLM, or cannot be run; --vllm-python names an interpreter"):
        evaluated_agent_of(str(checkpoint), AgentOptions(engine="vllm", python=python, context=400))


@pytest.mark.xdist_group("vllm")
def test_vllm_plays_what_our_own_engine_plays(checkpoint: Path, tmp_path: Path) -> None:
    greedy = {"temperature": 1e-3, **SMALL}
    ours = play(str(checkpoint), tmp_path / "ours", suite=LIBRARY, samples=2, **greedy)
    theirs = play(
        str(checkpoint), tmp_path / "theirs", suite=LIBRARY, samples=2, engine="vllm", python=vllm_python(), **greedy
    )
    assert theirs.outcomes == ours.outcomes
    assert sum(outcome.completion_tokens or 0 for outcome in ours.outcomes) > 0


def test_an_episode_has_at_most_the_turns_that_are_asked_for(checkpoint: Path, tmp_path: Path) -> None:
    """The settings of an evaluation name the limit only where there is one."""
    found = play(str(checkpoint), tmp_path, suite=LIBRARY, context=400, turn=24, turns=2, rows=3)
    assert {len(list(episode.turns)) for episode in found.episodes} == {2}
    assert {outcome.end for outcome in found.outcomes} == {EndReason.MAX_TURNS}
    assert found.settings.playing["turns"] == 2
    with evaluated_agent_of(str(checkpoint), AgentOptions(context=400)) as usual:
        assert "turns" not in usual.describe()
