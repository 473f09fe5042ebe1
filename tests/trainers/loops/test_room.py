"""What does not fit is refused before a run, with its tokens and the way out."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from palaestra.errors import ConfigError
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import demonstration, render_episode
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.loops.room import check_context, check_demonstrations, check_prompts, prompt_tokens
from palaestra.trainers.loops.worlds import RunWorlds
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of

FAMILIES = ("cancel-order", "fraud-hold", "order-status")


@pytest.fixture(scope="module")
def worlds() -> RunWorlds:
    return RunWorlds([WorldConfig(families=FAMILIES)])


@pytest.fixture(scope="module")
def codec(episodes: Sequence[Episode]) -> Codec:
    form = CHAT_FORMATS.get("smollm2")
    return Codec(train_tokenizer([render_episode(transcript_of(one), form) for one in episodes], form, size=900), form)


def policy_of(codec: Codec, context: int) -> Policy:
    shape = DecoderShape(
        vocabulary=len(codec.tokenizer), hidden=8, layers=1, heads=1, kv_heads=1, head_dim=8, mlp=8, context=context
    )
    return Policy(model=fresh(shape, seed=0), codec=codec)


def playing(context: int) -> GrpoConfig:
    config = GrpoConfig()
    return replace(config, play=replace(config.play, context=context))


def test_openings_are_of_several_families_and_few(worlds: RunWorlds) -> None:
    families = [opening.task.id.split("/")[1] for opening in worlds.sample_openings()]
    assert sorted(families) == sorted(FAMILIES)
    assert len(list(worlds.sample_openings(most=2))) == 2
    every = RunWorlds([WorldConfig()])
    chosen = [opening.task.id.rpartition("/")[0] for opening in every.sample_openings()]
    assert len(set(chosen)) == len(chosen) == 8


def test_a_prompt_that_leaves_no_room_for_a_turn_is_refused_with_its_tokens(worlds: RunWorlds, codec: Codec) -> None:
    longest = max(prompt_tokens(opening, codec) for opening in worlds.sample_openings())
    policy = policy_of(codec, longest + 100)
    check_prompts("grpo", playing(longest + 1), policy, worlds)
    with pytest.raises(ConfigError) as refused:
        check_prompts("grpo", playing(longest), policy, worlds)
    said = str(refused.value)
    assert f"grpo.play.context={longest}: the prompt of storefront/" in said
    assert f"has {longest:,} tokens in the format smollm2" in said
    assert f"raise it (the policy reads {longest + 100:,})" in said


def test_a_prompt_that_the_policy_cannot_read_is_refused_with_ways_to_a_shorter_one(
    worlds: RunWorlds, codec: Codec
) -> None:
    shortest = min(prompt_tokens(opening, codec) for opening in worlds.sample_openings())
    with pytest.raises(ConfigError, match=r"smollm2 in place of smollm2-described.*surface.*a policy that reads more"):
        check_prompts("grpo", playing(shortest - 1), policy_of(codec, shortest - 1), worlds)


def test_demonstrations_that_are_longer_than_the_policy_reads_are_refused(
    episodes: Sequence[Episode], codec: Codec
) -> None:
    sizes = sorted(len(demonstration(transcript_of(one), codec).ids) for one in episodes)
    check_demonstrations(episodes, policy_of(codec, sizes[-1]))
    reads = sizes[-1] - 1
    count = sum(size > reads for size in sizes)
    with pytest.raises(ConfigError) as refused:
        check_demonstrations(episodes, policy_of(codec, reads))
    said = str(refused.value)
    assert f"{count} of {len(sizes)} demonstrations have more than the {reads:,} tokens" in said
    assert f"has {sizes[-1]:,} in the format smollm2" in said
    assert "policy.model.context" in said


def test_trajectories_that_are_longer_than_the_policy_reads_are_refused(codec: Codec) -> None:
    with pytest.raises(ConfigError, match="the policy takes 64 tokens"):
        check_context("grpo", playing(65), policy_of(codec, 64).model.shape)
