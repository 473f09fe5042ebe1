"""Noise as middleware of the world: switches of `gym.make`, seeded, in the snapshot, each independent of the others."""

if __name__ != "palaestra.envs.noise":
    raise ImportError(f"this folder is palaestra.envs.noise, not {__name__}; write `import palaestra.envs.noise`")

from palaestra.envs.noise.material import Contradiction, Injection, Listing, NoiseMaterial, WorldEvent
from palaestra.envs.noise.noise import Noise
from palaestra.envs.noise.plan import NoisePlan, check_noise_material, check_noise_on_pages
from palaestra.envs.noise.state import NoiseSnapshot, NoiseState

__all__ = [
    "Contradiction",
    "Injection",
    "Listing",
    "Noise",
    "NoiseMaterial",
    "NoisePlan",
    "NoiseSnapshot",
    "NoiseState",
    "WorldEvent",
    "check_noise_material",
    "check_noise_on_pages",
]
