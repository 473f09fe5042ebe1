"""Noise as middleware of the world: switches of `gym.make`, seeded, in the snapshot, each independent of the others."""

from palaestra.envs.noise.material import Contradiction, Injection, Listing, Movement, NoiseMaterial

__all__ = ["Contradiction", "Injection", "Listing", "Movement", "NoiseMaterial"]
