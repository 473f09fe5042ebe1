"""The decoder: one definition for rollouts and for training.

It takes a flat run of tokens, which may belong to several sequences. Callers pass the attention, which decides which
tokens see each other: that of a cache when tokens are sampled, that of a layout when they are trained on. Weights have
the names that Hugging Face's files of Qwen3, Qwen3-MoE, Qwen2.5 and Llama have, so a state dict fits both.

Axes: T tokens, C hidden, H heads, G key-value heads, D head dimension, V vocabulary.
"""

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from palaestra.trainers.model.arithmetic import ForwardFunctions, Operations, Rotation
from palaestra.trainers.model.feed_forward import MixtureOfExperts, SwiGlu
from palaestra.trainers.model.projection import (
    ADAPTER_PART,
    FrozenProducts,
    JoinedProduct,
    LowRank,
    Projection,
    ProjectionProducts,
    side_by_side,
)
from palaestra.trainers.model.shape import DecoderShape, TemperatureRange
from palaestra.trainers.model.temperature import TemperatureHead
from palaestra.trainers.model.unquantised import UnquantisedLinear


class Attend(Protocol):
    """Attention between the tokens of a pass, and from them to earlier tokens."""

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """The attention output of each token over those that it sees, [T, H, D]; scores are scaled by 1 / sqrt(D)."""
        ...


class Decoder(nn.Module):
    """A causal language model.

    Args:
        shape: The shape of the weights; `checkpoint` gives decoders with initialised or saved weights.
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.model = _Stack(shape)
        self.lm_head = UnquantisedLinear(shape.hidden, shape.vocabulary)
        self.temperature_head = None if shape.temperature is None else TemperatureHead(shape.hidden, shape.temperature)
        """Chooses the temperatures of tokens, if the shape has a head; `forward` and `logits` do not use it."""
        self.tie()

    def add_temperature_head(self, range: TemperatureRange, *, seed: int) -> None:  # noqa: A002
        """Give the decoder a new temperature head, in single precision, on the device of its weights.

        Args:
            range: The temperatures that the head chooses from.
            seed: The seed of the head's initial weights.
        """
        self.shape = replace(self.shape, temperature=range)
        head = TemperatureHead(self.shape.hidden, range, seed=seed)
        self.temperature_head = head.to(self.lm_head.weight.device)

    def tie(self) -> None:
        """Make the output layer the embedding, if the shape is tied; needed after either was replaced."""
        if self.shape.tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def join(self, operations: Operations | None = None) -> None:
        """Arrange the weights for sampling: weights that multiply the same states become one matrix.

        The decoder computes the same, in fewer and larger products. Names and values of `state_dict` stay, and values
        can be copied into it; call `refresh` afterwards. The weights take no gradients any more.

        Args:
            operations: The operations between products; torch's if not given.
        """
        self.requires_grad_(requires_grad=False)
        for block in self.model.layers:
            assert isinstance(block, _Block)
            block.self_attn.join(operations)
            block.mlp.join(operations)
        for norm in self.modules():
            if isinstance(norm, _Norm):
                norm.operations = operations

    def use(self, functions: ForwardFunctions | None) -> None:
        """Compute the forward pass with these functions; with torch's own if `None`.

        Call `refresh` whenever weights have changed. This cannot be combined with `join`.
        """
        for module in self.modules():
            if isinstance(module, UnquantisedLinear | _Norm | _Attention | SwiGlu | Rotary):
                module.functions = functions
        self.multiply_with(functions)

    def multiply_with(self, products: ProjectionProducts | None) -> None:
        """Compute the products of blocks with `products`; with torch's own if `None`.

        Call `refresh` whenever weights have changed, and call this method before `join`.
        """
        for projection in self.projections():
            projection.products, projection.packed = products, None
        self.refresh()

    def projections(self) -> Iterator[Projection]:
        """The linear modules of blocks, in the order of `parameters`."""
        return (module for module in self.modules() if isinstance(module, Projection))

    def keep_packed(self) -> None:
        """Hold the weights of blocks only in the form that their products read; `load` gives them new values."""
        for projection in self.projections():
            empty = torch.empty_like(projection.weight, device="meta")
            projection.weight = nn.Parameter(empty, requires_grad=False)

    def share(self) -> "Decoder":
        """A decoder with separate modules that share these weights."""
        return deepcopy(self, {id(weight): weight for weight in self.parameters()})

    def freeze(self, products: FrozenProducts) -> None:
        """Hold the weights of blocks permanently in the form that `products` read; frozen weights stay as they are."""
        for projection in self.projections():
            projection.freeze(products)

    def unfrozen(self) -> "Decoder":
        """The decoder itself or, if weights are frozen, a copy with these in single precision that shares the rest."""
        if all(projection.frozen is None for projection in self.projections()):
            return self
        whole = self.share()
        for projection in whole.projections():
            projection.unfreeze()
        return whole

    def with_adapters(self, weights: Mapping[str, Tensor]) -> "Decoder":
        """The decoder itself or, if weights of adapters are given, a decoder with them that shares the other weights.

        Args:
            weights: The weights of adapters, by their names in that decoder; other weights are ignored.
        """
        adapted: Decoder | None = None
        for name, down in weights.items():
            projection, part, which = name.partition(ADAPTER_PART)
            if part and which == "down":
                adapted = adapted or self.share()
                one = adapted.get_submodule(projection)
                assert isinstance(one, Projection)
                one.adapter = LowRank(down, weights[f"{projection}{part}up"])
        return adapted or self

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Overwrite weights and call `refresh`; names and shapes are those of `state_dict`."""
        own = self.state_dict()
        packed = {f"{name}.weight": one for name, one in self.named_modules() if isinstance(one, Projection)}
        for name, weight in weights.items():
            if own[name].is_meta:
                packed[name].pack(weight)
            else:
                own[name].copy_(weight)
        self.refresh()

    def refresh(self) -> None:
        """Update everything that depends on the weights and is no view of them."""
        for module in self.modules():
            if isinstance(module, UnquantisedLinear | Projection):
                module.refresh()
        for block in self.model.layers:
            assert isinstance(block, _Block)
            block.self_attn.refresh()

    def forward(self, ids_T: Tensor, position_T: Tensor, attend: Attend, *, wanted_B: Tensor | None = None) -> Tensor:
        """The last layer's states, normalised, [T, C].

        Args:
            ids_T: Token ids.
            position_T: The position of each token in its sequence.
            attend: The attention between the tokens.
            wanted_B: The indices of the tokens whose states are wanted, if not all; the result is then [B, C], and the
                last layer does not compute the states of the other tokens.
        """
        states: Tensor = self.model(ids_T, position_T, attend, wanted_B)
        return states

    def logits(self, hidden_TC: Tensor) -> Tensor:
        """The logits of the next token for each state, [T, V]."""
        functions = self.lm_head.functions
        if functions is not None:
            assert self.lm_head.packed is not None
            return functions.logits(hidden_TC, self.lm_head.weight, self.lm_head.packed)
        logits: Tensor = self.lm_head(hidden_TC)
        return logits


class _Stack(nn.Module):
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(_Block(shape, layer) for layer in range(shape.layers))
        self.norm = _Norm(shape.hidden, eps=shape.norm_epsilon)
        self.rotary = Rotary(shape)

    def forward(self, ids_T: Tensor, position_T: Tensor, attend: Attend, wanted_B: Tensor | None) -> Tensor:
        x_TC: Tensor = self.embed_tokens(ids_T)
        rotation = self.rotary(position_T, x_TC.dtype)
        *blocks, last = self.layers
        for block in blocks:
            x_TC = block(x_TC, rotation, attend)
        x_TC = last(x_TC, rotation, attend, wanted_B)
        normed: Tensor = self.norm(x_TC)
        return normed


class _Norm(nn.RMSNorm):
    operations: Operations | None = None
    functions: ForwardFunctions | None = None

    def forward(self, x: Tensor) -> Tensor:
        found = self.operations or self.functions
        if found is None:
            return super().forward(x)
        assert self.eps is not None
        return found.norm(x, self.weight, self.eps)


class _Block(nn.Module):
    def __init__(self, shape: DecoderShape, layer: int) -> None:
        super().__init__()
        self.input_layernorm = _Norm(shape.hidden, eps=shape.norm_epsilon)
        self.self_attn = _Attention(shape, layer)
        self.post_attention_layernorm = _Norm(shape.hidden, eps=shape.norm_epsilon)
        self.mlp = SwiGlu(shape) if shape.experts is None else MixtureOfExperts(shape, shape.experts)

    def forward(self, x_TC: Tensor, rotation: Rotation, attend: Attend, wanted_B: Tensor | None = None) -> Tensor:
        seen_TC = self.self_attn(self.input_layernorm(x_TC), rotation, attend, wanted_B)
        x_TC = (x_TC if wanted_B is None else x_TC[wanted_B]) + seen_TC
        added: Tensor = x_TC + self.mlp(self.post_attention_layernorm(x_TC))
        return added


class _Attention(nn.Module):
    functions: ForwardFunctions | None = None

    def __init__(self, shape: DecoderShape, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.head_dim, self.epsilon = shape.head_dim, shape.norm_epsilon
        width, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.q_proj = Projection(shape.hidden, width, bias=shape.qkv_bias)
        self.k_proj = Projection(shape.hidden, narrow, bias=shape.qkv_bias)
        self.v_proj = Projection(shape.hidden, narrow, bias=shape.qkv_bias)
        self.o_proj = Projection(width, shape.hidden)
        self.q_norm = _head_norm(shape)
        self.k_norm = _head_norm(shape)
        self._joined: _JoinedHeads | None = None

    def join(self, operations: Operations | None) -> None:
        if self.o_proj.products is None:
            side_by_side(self.o_proj)
        self._joined = _JoinedHeads(self, operations)

    def refresh(self) -> None:
        if self._joined is not None:
            self._joined.refresh()

    def forward(self, x_TC: Tensor, rotation: Rotation, attend: Attend, wanted_B: Tensor | None) -> Tensor:
        q_THD, k_TGD, v_TGD = self._heads(x_TC, rotation) if self._joined is None else self._joined(x_TC, rotation)
        seen_THD = attend(self.layer, q_THD, k_TGD, v_TGD)
        out: Tensor = self.o_proj((seen_THD if wanted_B is None else seen_THD[wanted_B]).flatten(-2))
        return out

    def _heads(self, x_TC: Tensor, rotation: Rotation) -> tuple[Tensor, Tensor, Tensor]:
        q_THD: Tensor = self.q_norm(self.q_proj(x_TC).unflatten(-1, (-1, self.head_dim)))
        k_TGD: Tensor = self.k_norm(self.k_proj(x_TC).unflatten(-1, (-1, self.head_dim)))
        v_TGD: Tensor = self.v_proj(x_TC).unflatten(-1, (-1, self.head_dim))
        turn = rotate if self.functions is None else self.functions.turn
        return turn(q_THD, rotation), turn(k_TGD, rotation), v_TGD


class _JoinedHeads:
    """The result of `_Attention._heads`, with one product, one norm and one rotation."""

    def __init__(self, attention: _Attention, operations: Operations | None) -> None:
        self._operations = operations
        self._qkv = JoinedProduct(attention.q_proj, attention.k_proj, attention.v_proj)
        self._head_dim, self._epsilon = attention.head_dim, attention.epsilon
        self._heads = len(attention.q_proj.weight) // attention.head_dim
        self._groups = len(attention.k_proj.weight) // attention.head_dim
        self._norms = ((attention.q_norm, self._heads), (attention.k_norm, self._groups))
        self._norm_HD = self._spread()

    def _spread(self) -> Tensor | None:
        """The norms' weights, repeated for each head that has a norm."""
        weights = [norm.weight.expand(count, -1) for norm, count in self._norms if isinstance(norm, nn.RMSNorm)]
        return torch.cat(weights) if weights else None

    def refresh(self) -> None:
        """Copy the norms' current weights into the same tensor."""
        spread = self._spread()
        if self._norm_HD is not None and spread is not None:
            self._norm_HD.copy_(spread)

    def __call__(self, x_TC: Tensor, rotation: Rotation) -> tuple[Tensor, Tensor, Tensor]:
        qkv_THD = self._qkv(x_TC).unflatten(-1, (-1, self._head_dim))
        turned = self._heads + self._groups
        if self._operations is not None:
            cos_T1D, sin_T1D = rotation
            self._operations.turn(qkv_THD, cos_T1D, sin_T1D, heads=turned, norm_HD=self._norm_HD, epsilon=self._epsilon)
            q_THD, k_TGD, v_TGD = qkv_THD.split((self._heads, self._groups, self._groups), 1)
            return q_THD, k_TGD, v_TGD
        qk_THD, v_TGD = qkv_THD.split((turned, self._groups), 1)
        if self._norm_HD is not None:
            qk_THD = functional.rms_norm(qk_THD, (self._head_dim,), None, self._epsilon) * self._norm_HD
        q_THD, k_TGD = rotate(qk_THD, rotation).split((self._heads, self._groups), 1)
        return q_THD, k_TGD, v_TGD


def _head_norm(shape: DecoderShape) -> nn.Module:
    return _Norm(shape.head_dim, eps=shape.norm_epsilon) if shape.qk_norm else nn.Identity()


class Rotary(nn.Module):
    """Rotary positions (Su et al. 2021, arXiv:2104.09864), with paired halves as in Llama; without weights.

    The frequencies are computed in double precision and kept out of `state_dict`, so that no load, cast or move can
    change them.
    """

    functions: ForwardFunctions | None = None

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        half = torch.arange(0, shape.head_dim, 2, dtype=torch.float64, device="cpu")
        frequency = 1.0 / shape.rope_theta ** (half / shape.head_dim)
        scaling = shape.rope_scaling
        if scaling is not None:
            wavelength = 2 * math.pi / frequency
            smooth = (scaling.original_context / wavelength - scaling.low_freq_factor) / (
                scaling.high_freq_factor - scaling.low_freq_factor
            )
            smooth = smooth.clamp(0, 1)
            frequency = (1 - smooth) * frequency / scaling.factor + smooth * frequency
        self._frequency = frequency.float()

    def forward(self, position_T: Tensor, dtype: torch.dtype) -> Rotation:
        """The rotation of tokens at these positions."""
        if self.functions is not None:
            return self.functions.rotation(position_T, self._frequency)
        self._frequency = self._frequency.to(position_T.device)
        angle_T1D = torch.outer(position_T.float(), self._frequency)[:, None]
        cos_T1D, sin_T1D = angle_T1D.cos(), angle_T1D.sin()
        return torch.cat((cos_T1D, cos_T1D), -1).to(dtype), torch.cat((-sin_T1D, sin_T1D), -1).to(dtype)


def rotate(x_THD: Tensor, rotation: Rotation) -> Tensor:
    """`x_THD` rotated by each token's angles, [T, H, D]."""
    cos_T1D, sin_T1D = rotation
    left, right = x_THD.chunk(2, -1)
    return torch.addcmul(x_THD * cos_T1D, torch.cat((right, left), -1), sin_T1D)
