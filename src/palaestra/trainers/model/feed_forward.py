"""The feed-forward part of a block, for each token by itself: a gated layer, or a mixture of experts.

Axes: T tokens, C hidden, N tokens of an expert or columns, E experts, K experts of a token.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from palaestra.trainers.model.arithmetic import ForwardFunctions, Operations
from palaestra.trainers.model.projection import JoinedProduct, Projection, side_by_side
from palaestra.trainers.model.shape import DecoderShape, ExpertShape
from palaestra.trainers.model.unquantised import UnquantisedLinear


class SwiGlu(nn.Module):
    """A gated layer (arXiv:2002.05202): SiLU of one product, times a second product, through a third product."""

    functions: ForwardFunctions | None = None

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.gate_proj = Projection(shape.hidden, shape.mlp)
        self.up_proj = Projection(shape.hidden, shape.mlp)
        self.down_proj = Projection(shape.mlp, shape.hidden)
        self._joined: JoinedProduct | None = None
        self._operations: Operations | None = None

    def join(self, operations: Operations | None) -> None:
        """See `Decoder.join`."""
        self._operations = operations
        self._joined = JoinedProduct(self.gate_proj, self.up_proj)
        if self.down_proj.products is None:
            side_by_side(self.down_proj)

    def forward(self, x_TC: Tensor) -> Tensor:
        """The output of each token, [T, C]."""
        out: Tensor = self.down_proj(self._gate(x_TC))
        return out

    def _gate(self, x_TC: Tensor) -> Tensor:
        if self.functions is not None:
            return self.functions.gate(self.gate_proj(x_TC), self.up_proj(x_TC))
        if self._joined is None:
            gated_TN: Tensor = functional.silu(self.gate_proj(x_TC)) * self.up_proj(x_TC)
            return gated_TN
        both_TN = self._joined(x_TC)
        if self._operations is not None:
            return self._operations.gate(both_TN)
        gate_TN, up_TN = both_TN.chunk(2, -1)
        return functional.silu(gate_TN) * up_TN


class MixtureOfExperts(nn.Module):
    """Many gated layers; each token passes through the few with its highest router scores (Qwen3, arXiv:2505.09388).

    The outputs of a token's experts are added in the order of the experts, whatever other tokens there are.
    """

    def __init__(self, shape: DecoderShape, experts: ExpertShape) -> None:
        super().__init__()
        self.gate = UnquantisedLinear(shape.hidden, experts.count)
        self.experts = nn.ModuleList(SwiGlu(shape) for _ in range(experts.count))
        self._chosen, self._normalised = experts.chosen, experts.normalised

    def join(self, operations: Operations | None) -> None:
        """See `Decoder.join`."""
        for expert in self.experts:
            assert isinstance(expert, SwiGlu)
            expert.join(operations)

    def forward(self, x_TC: Tensor) -> Tensor:
        """The output of each token, [T, C]."""
        share_TK, expert_TK = self.route(x_TC)
        out_TC = torch.zeros_like(x_TC)
        for number, expert in enumerate(self.experts):
            token_N, place_N = torch.where(expert_TK == number)
            # Processes that share a block reduce the gradients of all its weights, so each needs some, even if zeros.
            if len(token_N) or torch.is_grad_enabled():
                got_NC = expert(x_TC[token_N]) * share_TK[token_N, place_N, None]
                out_TC = out_TC.index_add(0, token_N, got_NC)
        return out_TC

    def route(self, x_TC: Tensor) -> tuple[Tensor, Tensor]:
        """The shares and the numbers of each token's experts, [T, K] each."""
        functions = self.gate.functions
        if functions is None:
            logits_TE: Tensor = self.gate(x_TC)
        else:
            assert self.gate.packed is not None
            logits_TE = functions.route(x_TC, self.gate.weight, self.gate.packed)
        share_TK, expert_TK = logits_TE.softmax(-1, dtype=torch.float32).topk(self._chosen, -1)
        if self._normalised:
            share_TK = share_TK / share_TK.sum(-1, keepdim=True)
        return share_TK.to(x_TC.dtype), expert_TK
