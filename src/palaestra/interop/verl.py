# verl is installed under another Python than the one that checks types.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportUntypedFunctionDecorator=false
"""Worlds for verl's agent loops: a settings file names the class, and the rows of a data set name the seeds.

    - name: palaestra
      _target_: palaestra.interop.verl.PalaestraAgentLoop
      env_id: palaestra/Storefront-v0
      switches: {split: train}

`actor_rollout_ref.rollout.agent.agent_loop_config_path` takes the path of this file. verl's decorator `register` is not
used: it would replace the file's entry and its settings when a worker imports this module.

Tokens
    The policy's tokens are kept as the engine gave them, with mask 1. verl's own builder adds the world's messages in
    the form of the model's chat template, with mask 0. No text is tokenized twice.
Turns
    The decoded text of a turn goes to the world, whose `action_format` parses it, as in process. verl's tool parsers
    are not used: they drop calls that they cannot parse, whereas the world answers them.
Ends
    The world's end ends the rollout. A limit of turns or tokens ends it from outside: it is judged as unfinished. A
    turn that makes the response reach `response_length` is not played, as in verl's own loops.
Void
    A fault of the world or of the engine raises. verl's trainer then stores no trajectory for the rollout. Masking the
    response would not suffice: the reward of a masked row still counts in its group's baseline.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput
from verl.experimental.agent_loop.tool_agent_loop import SPEC_DECODE_EXTRA_KEYS
from verl.utils.profiler import simple_timer
from verl.utils.rollout_trace import rollout_trace_op

from palaestra.errors import CapabilityError, ConfigError, ReplyError
from palaestra.interop.episode import AdaptedEpisode, EnvMaker
from palaestra.interop.source import EnvSource
from palaestra.records import JsonSchema, Message
from palaestra.tools import to_openai


@dataclass(kw_only=True)
class _TokenStream:
    """The tokens of a rollout, and the fields of verl's output."""

    ids: list[int]
    """Prompt and response so far."""
    mask: list[int] = field(default_factory=list[int])
    """The mask of the response: 1 for tokens of the policy, 0 for those of the world."""
    logprobs: list[float] | None = None
    """The log-probabilities of the response; `None` until the engine gives some."""
    chat: list[dict[str, Any]]
    """The messages that the tokens render. Any: JSON, in the form of chat templates."""
    tools: tuple[JsonSchema, ...]
    turns: int = 0
    """The number of the policy's turns."""
    answers: int = 0
    """The number of the world's answers."""
    metrics: dict[str, Any] = field(default_factory=dict[str, Any])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    routed_experts: Any = None
    """The experts of all tokens, if the engine records them. Any: an array."""

    def output(self, *, reward: float, response_length: int) -> AgentLoopOutput:
        """The rollout in verl's form; tokens beyond `response_length` are cut off."""
        prompt = len(self.ids) - len(self.mask)
        end = prompt + response_length
        return AgentLoopOutput(
            prompt_ids=self.ids[:prompt],
            response_ids=self.ids[prompt:end],
            response_mask=self.mask[:response_length],
            response_logprobs=None if self.logprobs is None else self.logprobs[:response_length],
            routed_experts=None if self.routed_experts is None else self.routed_experts[:end],
            reward_score=reward,
            num_turns=self.turns + self.answers + 1,
            metrics=self.metrics,
            # verl's own loops have these two, and a batch has one set of fields.
            extra_fields={**self.extra, "turn_scores": [], "tool_rewards": []},
        )


class PalaestraAgentLoop(AgentLoopBase):
    """One rollout: requests turns from verl's engine, plays them, and adds the world's messages, until its end.

    Args:
        args: The arguments of every agent loop in verl. Any: verl's classes.
        env_id: See `EnvSource`; this and the next three are in the settings file.
        url: A server of worlds instead of `env_id`; its key is in `PALAESTRA_KEY`.
        world: The name of the server's world.
        switches: Further arguments of `palaestra.make` or `palaestra.connect`. Its `action_format` is that of the
            model.
        kwargs: See `args`.

    Raises:
        ConfigError: not exactly one of `env_id` and `url` is given, when a rollout begins.
    """

    def __init__(
        self,
        *args: Any,
        env_id: str | None = None,
        url: str | None = None,
        world: str | None = None,
        switches: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        plain = OmegaConf.to_container(switches, resolve=True) if OmegaConf.is_config(switches) else switches
        self._source = EnvSource(env_id=env_id, url=url, world=world, switches=plain or {})
        tokenizer = self.tokenizer
        self._ends = {tokenizer.eos_token_id, tokenizer.pad_token_id} - {None}

    @rollout_trace_op
    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the episode of a row. Any: verl's settings and the data set's columns.

        Args:
            sampling_params: The parameters for the engine.
            row: A row that `dataset_rows` made, as verl's data set gives it.

        Raises:
            ConfigError: the row has no seed or opens another episode, the prompt is too long, or rewards are hidden.
            CapabilityError: the episode has images, or its tools change during the episode.
            InfrastructureError: the world or the engine failed; the rollout does not count.
        """
        episode = AdaptedEpisode(await asyncio.to_thread(self._source))
        try:
            stream = await self._open(episode, row)
            await self._play(episode, stream, sampling_params, self._request_id(row))
            reward = await asyncio.to_thread(episode.reward)
        finally:
            await asyncio.to_thread(episode.close)
        return stream.output(reward=reward, response_length=self.rollout_config.response_length)

    async def _open(self, episode: AdaptedEpisode, row: Mapping[str, Any]) -> _TokenStream:
        seed = (row.get("extra_info") or {}).get("seed")
        if seed is None:
            raise ConfigError("the row has no extra_info.seed; make rows by dataset_rows")
        chat = _read_chat(await asyncio.to_thread(partial(episode.begin, seed=int(seed))))
        if [(said["role"], said["content"]) for said in row["raw_prompt"]] != [(m["role"], m["content"]) for m in chat]:
            raise ConfigError(f"seed={seed}: the prompt of this row opens another episode; make rows by dataset_rows")
        build = self.continuous_token_builder.build_initial_tokens
        ids = await asyncio.to_thread(build, chat, tools=list(episode.tools))
        longest = self.rollout_config.prompt_length
        if len(ids) > longest:  # verl would cut off its beginning
            raise ConfigError(f"the prompt has {len(ids)} tokens; rollout.prompt_length={longest} has to hold it")
        return _TokenStream(ids=list(ids), chat=chat, tools=episode.tools)

    async def _play(
        self, episode: AdaptedEpisode, stream: _TokenStream, sampling_params: dict[str, Any], request_id: str
    ) -> None:
        limits = self.rollout_config.multi_turn
        most = min((limit for limit in (limits.max_assistant_turns, limits.max_user_turns) if limit), default=None)
        while most is None or stream.turns < most:
            written = await self._draw_turn(stream, sampling_params, request_id)
            if len(stream.mask) >= self.rollout_config.response_length:
                return
            with simple_timer("tool_calls", stream.metrics):
                messages = await asyncio.to_thread(episode.act, self._decode(written))
            if episode.is_over:
                return
            if episode.tools != stream.tools:
                raise CapabilityError(
                    "the tools change on the way, and the prompt states them once; switch off noise that changes tools"
                )
            if not await self._add_answer(stream, messages):
                return

    async def _draw_turn(self, stream: _TokenStream, sampling_params: dict[str, Any], request_id: str) -> list[int]:
        """Request a turn from the engine; returns its tokens."""
        with simple_timer("generate_sequences", stream.metrics):
            drawn = await self.server_manager.generate(
                request_id=request_id, prompt_ids=stream.ids, sampling_params=sampling_params
            )
        if drawn.stop_reason in ("abort", "aborted"):
            raise ReplyError("the engine gave up a turn; the rollout does not count")
        written: list[int] = drawn.token_ids
        merged, stream.mask, logprobs = await self.ct_merge_assistant_token(
            stream.ids,
            written,
            stream.mask,
            (stream.logprobs or []) if stream.logprobs or drawn.log_probs else None,
            assistant_logprobs=drawn.log_probs or None,
        )
        stream.ids, stream.logprobs = merged.token_ids, logprobs
        stream.turns += 1
        _take_facts(stream, drawn)
        return written

    async def _add_answer(self, stream: _TokenStream, messages: Sequence[Message]) -> bool:
        """Add the world's messages; returns whether they fit and leave room for a turn."""
        before = [*stream.chat, _stand_in(messages)]
        chat = [*before, *_read_chat(messages)]
        merged, mask, logprobs = await self.ct_merge_context_msg(
            before, chat, stream.ids, stream.mask, stream.logprobs, tools=list(stream.tools)
        )
        if len(mask) >= self.rollout_config.response_length:
            return False
        stream.ids, stream.mask, stream.logprobs, stream.chat = merged.token_ids, mask, logprobs, chat
        stream.answers += 1
        return True

    def _decode(self, written: Sequence[int]) -> str:
        """The text of a turn, special tokens included (some formats have them), without the token that ends it."""
        end = len(written)
        while end and written[end - 1] in self._ends:
            end -= 1
        text = self.tokenizer.decode(written[:end], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(text)

    def _request_id(self, row: Mapping[str, Any]) -> str:
        return f"det-{int(row.get('priority', 0))}" if self.rollout_config.full_determinism else uuid4().hex


def dataset_rows(make_env: EnvMaker, seeds: Iterable[int], *, agent_name: str = "palaestra") -> list[dict[str, Any]]:
    """Rows for the parquet file of verl's data set, one for each seed. They hold nothing that a policy must not see.

    Args:
        make_env: Makes an environment like those of the rollouts: an `EnvSource` with the same settings.
        seeds: The seeds of the episodes.
        agent_name: The name of the agent loop in the settings file.

    Raises:
        CapabilityError: an episode has images.
        InfrastructureError: the world failed.
    """
    episode = AdaptedEpisode(make_env())
    rows: list[dict[str, Any]] = []
    for seed in seeds:
        rows.append(
            {
                "agent_name": agent_name,
                "data_source": "palaestra",
                "prompt": _read_chat(episode.begin(seed=seed)),
                "reward_model": {"style": "rule", "ground_truth": ""},  # the loop gives the reward itself
                "extra_info": {"index": seed, "seed": seed},
            }
        )
    episode.close()
    return rows


def _read_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in the form of chat templates. Any: JSON."""
    chat = to_openai(messages)
    if any(not isinstance(message["content"], str) for message in chat):
        raise CapabilityError("the world shows images, and this adapter passes text alone; use a surface of text")
    return chat


def _stand_in(answers: Sequence[Message]) -> dict[str, Any]:
    """The policy's last turn in the form of chat templates: the answered calls. Its tokens are already present."""
    calls = [
        {
            "id": answer["tool_call_id"],
            "type": "function",
            "function": {"name": answer.get("name", ""), "arguments": {}},
        }
        for answer in answers
        if "tool_call_id" in answer
    ]
    return {"role": "assistant", "content": "", **({"tool_calls": calls} if calls else {})}


def _take_facts(stream: _TokenStream, drawn: Any) -> None:
    """Keep the engine's data about its turn as verl's own loops do. Any: verl's `TokenOutput`."""
    if drawn.num_preempted is not None:
        stream.metrics["num_preempted"] = max(stream.metrics.get("num_preempted", 0), 0) + drawn.num_preempted
    if drawn.routed_experts is not None:
        stream.routed_experts = drawn.routed_experts
    if stream.turns == 1:
        stream.extra |= drawn.extra_fields
        return
    for key, value in drawn.extra_fields.items():
        if key == "max_global_steps" and value:
            stream.extra[key] = value
        elif key in SPEC_DECODE_EXTRA_KEYS and key in stream.extra:
            stream.extra[key] += value
