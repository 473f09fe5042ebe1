"""Memory and disk space of a stage, estimated from its settings and the model's shape before anything is allocated.

Figures are upper limits for what grows (activations, keys and values), and exact if sizes follow from the shape. Not
counted: the allocator's reserve, attention's own buffers, the Python process and its libraries.
"""

from dataclasses import dataclass

import torch

from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.native.kernels import BLOCK_PLACES
from palaestra.trainers.engines.native.pages import PLACES_ON_CUDA, page_count
from palaestra.trainers.flow import PrecisionFlow, flow_of
from palaestra.trainers.learner import LearnerConfig, LoraConfig
from palaestra.trainers.loops.config import StageConfig
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.rollout_config import GroupStageConfig, GrpoConfig
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.products import frozen_bytes, packed_bytes

_SINGLE = 4
"""Bytes of a number in single precision, the precision of weights, gradients and moments."""
_HALF = 2
"""Bytes of a number in bfloat16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """Something that takes memory."""

    what: str
    bytes: int
    where: str
    """A device, or "disk"."""


def estimate_memory(config: StageConfig, shape: DecoderShape) -> list[MemoryItem]:
    """The memory and disk space of a stage, part by part.

    Args:
        config: The settings with resolved devices, from `place`.
        shape: The policy's shape.
    """
    learner = config.learner
    device = learner.device or "cpu"
    weights = _SINGLE * shape.parameters
    trained = _SINGLE * trained_parameters(shape, learner.lora)
    frozen = _flow_of(learner).frozen
    items = [
        MemoryItem(what="weights", bytes=_frozen_weights(shape) + trained if frozen else weights, where=device),
        MemoryItem(what="gradients", bytes=trained, where=device),
        MemoryItem(what="optimiser, two moments", bytes=2 * trained, where=device),
        MemoryItem(
            what="activations of a micro-batch, at most",
            bytes=_longest(config) * activation_bytes(shape, learner),
            where=device,
        ),
        MemoryItem(what="logits of a chunk", bytes=3 * learner.logits_chunk * shape.vocabulary * _SINGLE, where=device),
    ]
    items += _of_working_weights(learner, shape, trained, device)
    if frozen:
        what = "frozen weights in single precision, while a whole policy is saved"
        items.append(MemoryItem(what=what, bytes=_SINGLE * shape.projection_parameters, where=device))
    if learner.lora is None:
        items.append(MemoryItem(what="the policy at the start", bytes=weights, where="cpu"))
    if isinstance(config, GrpoConfig):
        items += _of_objective(config, shape)
    if isinstance(config, GroupStageConfig):
        items += _of_rollouts(config, learner, shape)
    save = 3 * trained
    if config.save.background:
        items.append(MemoryItem(what="copy for a save", bytes=save, where="cpu"))
    base = 0 if learner.lora is None else 2 * weights  # beside the saves, and in the last of them
    items.append(MemoryItem(what="two saves", bytes=2 * save + base, where="disk"))
    return items


def _of_working_weights(learner: LearnerConfig, shape: DecoderShape, trained: int, device: str) -> list[MemoryItem]:
    """The copies of the weights that products read, beside the trained weights."""
    weights = _SINGLE * shape.parameters
    items: list[MemoryItem] = []
    flow = _flow_of(learner)
    if flow.operands is not None:
        forms = 2 if trained else 1
        rest = forms * _HALF * (shape.parameters - shape.projection_parameters)
        items.append(MemoryItem(what="copy in bf16 of all but projections, with gradients", bytes=rest, where=device))
        packed = _packed_bytes(flow, shape, forms=2)
        items.append(MemoryItem(what="weights as quantised products read them", bytes=packed, where=device))
        return items
    if flow.frozen:
        rest = _HALF * (shape.parameters - shape.projection_parameters)
        what = "copy in bf16 of all but projections, with adapters and their gradients"
        items.append(MemoryItem(what=what, bytes=rest + trained, where=device))
        return items
    if flow.weights == torch.bfloat16:
        items.append(MemoryItem(what="copy in bf16, with gradients", bytes=(weights + trained) // 2, where=device))
    if learner.invariant:
        laid_out = flow.weights.itemsize * shape.parameters
        items.append(MemoryItem(what="weights as the invariant kernels read them", bytes=laid_out, where=device))
    return items


def _frozen_weights(shape: DecoderShape) -> int:
    """Bytes of weights with projections in NVFP4 and the others in single precision."""
    return frozen_bytes(shape) + _SINGLE * (shape.parameters - shape.projection_parameters)


def _packed_bytes(flow: PrecisionFlow, shape: DecoderShape, *, forms: int) -> int:
    """Bytes of quantised projections; in the invariant mode, `forms` copies in bf16, and the output layer's."""
    assert flow.operands is not None
    if not flow.fixed_order:
        return packed_bytes(flow.operands, shape)
    return _HALF * (forms * shape.projection_parameters + shape.vocabulary * shape.hidden)


def _flow_of(part: LearnerConfig | NativeConfig) -> PrecisionFlow:
    precision = "fp32" if part.precision == "auto" else part.precision
    return flow_of(precision, invariant=part.invariant, keys_and_values=part.keys_and_values)


def _of_objective(config: GrpoConfig, shape: DecoderShape) -> list[MemoryItem]:
    weights, device = _SINGLE * shape.parameters, config.learner.device or "cpu"
    items: list[MemoryItem] = []
    built = config.objective.build()
    if "ref_T" in built.requires:  # its weights are those at the start, or those that adapters adapt
        moved = weights if config.learner.lora is None and device != "cpu" else 0
        working = sum(one.bytes for one in _of_working_weights(config.learner, shape, 0, device))
        items.append(MemoryItem(what="reference policy", bytes=moved + working, where=device))
    if built.critic is not None:
        on = config.critic.learner.device or "cpu"
        items.append(MemoryItem(what="critic, with gradients and moments", bytes=4 * weights, where=on))
    return items


def _of_rollouts(config: GroupStageConfig, learner: LearnerConfig, shape: DecoderShape) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    if config.vllm is not None:
        items.append(MemoryItem(what="keys and values of vLLM", bytes=config.vllm.cache_bytes, where="vLLM's own"))
        return items
    engine, on = config.engine, config.engine.device or "cpu"
    values = cache_bytes(shape, _flow_of(engine)) * _held_places(config)
    if _flow_of(engine).frozen:
        items.append(_of_frozen_engine(engine, learner, shape))
        items.append(MemoryItem(what="keys and values, at most", bytes=values, where=on))
        return items
    weights = _engine_weights(engine, shape)
    if config.replicas is None:
        items.append(MemoryItem(what="weights of the engine", bytes=weights, where=on))
        items.append(MemoryItem(what="keys and values, at most", bytes=values, where=on))
        return items
    on = ", ".join(dict.fromkeys(config.replicas.devices)) or on
    count = config.replicas.count
    items.append(MemoryItem(what=f"weights of {count} replicas", bytes=count * weights, where=on))
    items.append(MemoryItem(what="keys and values of the replicas, at most", bytes=count * values, where=on))
    passed = 2 * _SINGLE * shape.parameters
    items.append(MemoryItem(what="weights on their way to replicas, at most", bytes=passed, where="cpu"))
    return items


def _of_frozen_engine(engine: NativeConfig, learner: LearnerConfig, shape: DecoderShape) -> MemoryItem:
    """The engine's weights in bf16 and its adapters; it shares frozen ones with a learner on its device."""
    on, others = engine.device or "cpu", shape.parameters - shape.projection_parameters
    own = _HALF * (others + trained_parameters(shape, learner.lora))
    if on == (learner.device or "cpu"):
        return MemoryItem(what="weights of the engine, beside frozen ones that it shares", bytes=own, where=on)
    return MemoryItem(what="weights of the engine", bytes=own + frozen_bytes(shape), where=on)


def _held_places(config: GroupStageConfig) -> int:
    """Places of keys and values: on a GPU the whole pool, on a CPU those that trajectories need."""
    engine = config.engine
    on_cpu = (engine.device or "cpu") == "cpu"
    places = BLOCK_PLACES if on_cpu else PLACES_ON_CUDA
    pool = page_count(engine.capacity, engine.rows, places) * places
    return min(pool, config.pool.agents * (config.play.context + places)) if on_cpu else pool


def _engine_weights(engine: NativeConfig, shape: DecoderShape) -> int:
    flow = _flow_of(engine)
    if flow.operands is not None:
        rest = _HALF * (shape.parameters - shape.projection_parameters)
        return rest + _packed_bytes(flow, shape, forms=1)
    copies = 2 if engine.invariant else 1  # the mode keeps the weights as its kernels read them, too
    return copies * shape.parameters * flow.weights.itemsize


def _longest(config: StageConfig) -> int:
    """Maximum tokens of a micro-batch."""
    most = config.learner.micro_tokens
    if isinstance(config, SftConfig):
        return most
    if not isinstance(config, GrpoConfig):
        return min(max(most, config.play.context), config.batch * config.play.context)
    forks = 0 if config.branching is None else len(config.branching.pivots) * config.branching.continuations
    batch = config.limits.per_step * (config.group_size + forks) * config.play.context
    return min(max(most, config.play.context), batch)


def trained_parameters(shape: DecoderShape, lora: LoraConfig | None) -> int:
    """The number of trained parameters: all weights, or those of adapters."""
    if lora is None:
        return shape.parameters
    width, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    gated = 1 if shape.experts is None else shape.experts.count
    sides = {
        "q_proj": shape.hidden + width,
        "k_proj": shape.hidden + narrow,
        "v_proj": shape.hidden + narrow,
        "o_proj": width + shape.hidden,
        "gate_proj": gated * (shape.hidden + shape.mlp),
        "up_proj": gated * (shape.hidden + shape.mlp),
        "down_proj": gated * (shape.mlp + shape.hidden),
    }
    return shape.layers * lora.rank * sum(sides.get(target, 0) for target in lora.targets)


def activation_bytes(shape: DecoderShape, learner: LearnerConfig) -> int:
    """Bytes per token that the backward pass needs: the inputs of each block's products, norms and gates.

    A block keeps 4 vectors of the hidden width (its input, the sum behind attention, both normed), 3 of all heads'
    width (queries before norm and rotation and behind them, and what attention gave), 3 of the key-value heads' width,
    and 4 of the middle width for each expert that a token goes through. With checkpointing, every block keeps its input
    and one block keeps all.
    """
    number = _flow_of(learner).states.itemsize
    heads, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    block = (
        4 * shape.hidden
        + 3 * heads
        + 3 * narrow
        + 4 * shape.mlp * (1 if shape.experts is None else shape.experts.chosen)
    )
    if learner.checkpointing:
        return number * (shape.layers * shape.hidden + block)
    return number * shape.layers * block


def cache_bytes(shape: DecoderShape, flow: PrecisionFlow) -> int:
    """Bytes of a token's keys and values, scales included."""
    return 2 * shape.layers * shape.kv_heads * flow.vector_bytes(shape.head_dim)
