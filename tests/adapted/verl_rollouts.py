# verl lives under another Python than the one that checks types; `make interop` runs this file there.
# mypy: disable-error-code="import-not-found, import-untyped, misc, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
"""Rollouts of verl's own: its settings, its data set, its agent-loop worker. Only the engine is a script."""

import asyncio
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hydra import compose, initialize_config_module

from adapted.tokenized import QWEN3, ModelFamily, save_model_folder
from palaestra.interop import EnvSource

with warnings.catch_warnings():  # verl imports what Ray has deprecated
    warnings.simplefilter("ignore")
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
    from verl.protocol import DataProto
    from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
    from verl.workers.rollout.replica import TokenOutput

    from palaestra.interop.verl import dataset_rows

LOGPROB = -0.25
"""Of every token of the engine's."""


class ScriptedEngine:
    """Stands for the client of verl's servers: answers each request of a rollout with the next turn of its script.

    Args:
        tokenizer: Of the model. Any: a tokenizer of transformers.
        scripts: The turns of a rollout, special tokens included, by a text that its prompt alone holds.

    Attributes:
        asked: The prompts of all requests.
        drawn: The tokens of all turns.
        stop_reason: Why each turn ended, in verl's words.
    """

    def __init__(self, tokenizer: Any, scripts: Mapping[str, Sequence[str]]) -> None:
        self.tokenizer = tokenizer
        self.scripts = scripts
        self.stop_reason = "completed"
        self.asked: list[list[int]] = []
        self.drawn: list[list[int]] = []
        self._turns: dict[str, int] = {}

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **rest: Any
    ) -> TokenOutput:
        """The next turn."""
        del rest
        assert sampling_params["logprobs"] is True
        await asyncio.sleep(0)
        prompt = self.tokenizer.decode(prompt_ids)
        [script] = [script for opening, script in self.scripts.items() if opening in prompt]
        turn = self._turns.get(request_id, 0)
        self._turns[request_id] = turn + 1
        ids = split_tokens(self.tokenizer, script[turn])
        self.asked.append(list(prompt_ids))
        self.drawn.append(ids)
        return TokenOutput(token_ids=ids, log_probs=[LOGPROB] * len(ids), stop_reason=self.stop_reason)

    @property
    def read(self) -> str:
        """All that the policy could read."""
        return "\n".join(self.tokenizer.decode(ids) for ids in self.asked)


def split_tokens(tokenizer: Any, text: str) -> list[int]:
    """Tokens of a text as no tokenizer gives them: special ones whole, all else character by character."""
    ids: list[int] = []
    while text:
        piece = next((mark for mark in tokenizer.all_special_tokens if text.startswith(mark)), text[0])
        ids += tokenizer.encode(piece, add_special_tokens=False)
        text = text[len(piece) :]
    return ids


class VerlRollouts:
    """A batch of rollouts.

    Args:
        folder: Takes the files: a model without weights, the data set, the settings of the loop.
        source: What `EnvSource` takes.
        scripts: By seed: the turns of its rollout.
        family: Of models.
        rollout: Settings below `actor_rollout_ref.rollout`, with dots.
    """

    def __init__(
        self,
        folder: Path,
        source: Mapping[str, Any],
        scripts: Mapping[int, Sequence[str]],
        *,
        family: ModelFamily = QWEN3,
        rollout: Mapping[str, Any] | None = None,
    ) -> None:
        tokenizer = save_model_folder(folder, family)
        loop = {"name": "palaestra", "_target_": "palaestra.interop.verl.PalaestraAgentLoop", **source}
        (folder / "loops.yaml").write_text(json.dumps([loop]))  # JSON is YAML
        self.rows = dataset_rows(EnvSource(**source), scripts)
        openings = [row["prompt"][-1]["content"] for row in self.rows]
        self.engine = ScriptedEngine(tokenizer, dict(zip(openings, scripts.values(), strict=True)))
        self.config = make_config(folder, {"prompt_length": 40_000, "response_length": 40_000, **(rollout or {})})
        self.folder = folder

    def batch(self) -> DataProto:
        """The rows as verl's data set gives them."""
        path = self.folder / "rows.parquet"
        pd.DataFrame(self.rows).to_parquet(path)
        dataset = RLHFDataset(str(path), self.engine.tokenizer, self.config.data)
        return DataProto.from_single_dict(collate_fn([dataset[number] for number in range(len(dataset))]))

    def play(self, *, repeats: int = 1) -> DataProto:
        """Play every row so many times."""

        async def run() -> DataProto:
            worker = AgentLoopWorker(self.config, self.engine)
            return await worker.generate_sequences(self.batch().repeat(repeats))

        return asyncio.run(run())


def make_config(folder: Path, rollout: Mapping[str, Any]) -> Any:
    """verl's settings of a trainer. Any: a `DictConfig`."""
    settings = {"name": "vllm", "agent.agent_loop_config_path": folder / "loops.yaml", **rollout}
    overrides = [f"actor_rollout_ref.rollout.{name}={value}" for name, value in settings.items()]
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", [f"actor_rollout_ref.model.path={folder}", *overrides])
