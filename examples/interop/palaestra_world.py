"""A taskset of verifiers: `uv run vf-eval palaestra_world` finds it by the name of this module."""

from palaestra.interop.verifiers import PalaestraHarness, PalaestraTaskset

__all__ = ["PalaestraHarness", "PalaestraTaskset"]
