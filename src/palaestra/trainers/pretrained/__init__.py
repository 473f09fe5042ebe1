"""Models that others trained and that a package registry has: which there are, and how one becomes a checkpoint.

Weights come from a package of a pinned version and hash, through pip; none are part of Palaestra. Reading the catalogue
needs no torch.
"""

from palaestra.trainers.pretrained.catalogue import MODELS, PretrainedModel
from palaestra.trainers.pretrained.installation import checkpoint_of, find_installed_model, install_model

__all__ = ["MODELS", "PretrainedModel", "checkpoint_of", "find_installed_model", "install_model"]
