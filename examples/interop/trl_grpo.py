"""GRPO with TRL through the tools of a world, on a CPU: a tiny model learns from the calls that it makes.

    python examples/interop/trl_grpo.py --steps 4

No model is downloaded. A tokenizer is trained on the prompts, a Qwen3 of two layers imitates a few calls of each task
until it writes any, and `GRPOTrainer` takes over. Replace `make_model` by a model of yours.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

import palaestra
from palaestra.interop.trl import TrlEnvironment, environment_class, prompt_rows

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
]


def make_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of these texts, with Qwen3's chat template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = qwen3_chat_template
    made.padding_side = "left"
    return made


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A Qwen3 of two layers with random weights."""
    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=16_384,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def first_turns(world: type[TrlEnvironment], seeds: Iterable[int]) -> list[str]:
    """For each seed a message as Qwen3 writes it: the solution up to the first call that pays, and `finish`."""
    env: Any = world().episode.env.unwrapped
    messages: list[str] = []
    for seed in seeds:
        env.reset(seed=seed)
        solution = env.oracle()
        pays = (env.step({"tool": call.tool, "arguments": dict(call.arguments)})[1] > 0 for call in solution)
        first = next(number for number, does in enumerate(pays) if does)
        chosen = (*solution[: first + 1], solution[-1])
        calls = (json.dumps({"name": call.tool, "arguments": dict(call.arguments)}) for call in chosen)
        messages.append("\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls) + "<|im_end|>")
    return messages


def warm_start(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[str],
    answers: Sequence[str],
    steps: int,
) -> float:
    """Imitate the answer to each prompt; the loss of the last step."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loss = torch.zeros(())
    for step in range(steps):
        prompt = tokenizer(prompts[step % len(prompts)])["input_ids"]
        answer = tokenizer(answers[step % len(answers)])["input_ids"]
        labels = torch.tensor([[-100] * len(prompt) + answer])
        loss = model(input_ids=torch.tensor([prompt + answer]), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float(loss)


def train(env_id: str, *, steps: int, warm_steps: int, generations: int = 4, **switches: Any) -> list[dict[str, Any]]:
    """Train, and give TRL's figures of each step. Any: what the environment takes, and TRL's figures.

    Args:
        env_id: The environment.
        steps: Steps of GRPO.
        warm_steps: Steps of imitation before.
        generations: Rollouts of a prompt.
        switches: What `palaestra.make` takes.
    """
    world = environment_class(lambda: palaestra.make(env_id, **switches))
    rows = prompt_rows(world, range(steps))
    probe = world()
    # TRL shows tools in the order of their names.
    tools = [getattr(probe, name) for name in sorted(tool["function"]["name"] for tool in world._tools)]
    answers = first_turns(world, range(steps))
    texts = [json.dumps(row["prompt"]) + json.dumps(world._tools) for row in rows]
    tokenizer = make_tokenizer([*texts, *answers])
    model = make_model(tokenizer)
    prompts = [
        tokenizer.apply_chat_template(row["prompt"], tools=tools, add_generation_prompt=True, tokenize=False)
        for row in rows
    ]
    loss = warm_start(model, tokenizer, prompts, answers, warm_steps)
    length = len(tokenizer(prompts[0])["input_ids"])
    print(f"{len(tokenizer)} tokens, {length} in the first prompt, imitation loss {loss:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            per_device_train_batch_size=generations,
            num_generations=generations,
            max_completion_length=256,
            max_tool_calling_iterations=4,
            max_steps=steps,
            learning_rate=1e-3,
            temperature=1.0,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=0,
        )
        trainer = GRPOTrainer(
            model=model,
            args=config,
            processing_class=tokenizer,
            train_dataset=Dataset.from_list(rows),
            environment_factory=world,
        )
        trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def main() -> None:
    """Train as the command line says, and print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", help="The environment; by default the world in examples/worlds/human_resources.")
    parser.add_argument("--steps", type=int, default=4, help="Steps of GRPO.")
    parser.add_argument("--warm-steps", type=int, default=200, help="Steps of imitation before.")
    given = parser.parse_args()
    env_id = given.env or palaestra.register_world(Path(__file__).parents[1] / "worlds" / "human_resources")
    for number, figures in enumerate(train(env_id, steps=given.steps, warm_steps=given.warm_steps), start=1):
        print(
            f"step {number}: reward {figures['reward']:+.3f} (spread {figures['reward_std']:.3f}), "
            f"calls a rollout {figures['tools/call_frequency']:.2f}, loss {figures['loss']:+.4f}, "
            f"gradient {figures['grad_norm']:.3f}"
        )


if __name__ == "__main__":
    main()
