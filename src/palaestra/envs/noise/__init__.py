"""Noise as middleware of the world: switches of `gym.make`, seeded, in the snapshot, each independent of the others."""

if __name__ != "palaestra.envs.noise":
    raise ImportError(f"this folder is palaestra.envs.noise, not {__name__}; write `import palaestra.envs.noise`")

from palaestra.envs.noise.climate import Climate, must_fit
from palaestra.envs.noise.material import Contradiction, Injection, Listing, Movement, NoiseMaterial
from palaestra.envs.noise.noise import Noise
from palaestra.envs.noise.weather import Weather, WeatherSnapshot

__all__ = [
    "Climate",
    "Contradiction",
    "Injection",
    "Listing",
    "Movement",
    "Noise",
    "NoiseMaterial",
    "Weather",
    "WeatherSnapshot",
    "must_fit",
]
