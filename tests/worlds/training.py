"""The settings file of a small training run in the library, but for its stages."""

import json
from collections.abc import Sequence

from worlds.registration import LIBRARY_ID


def library_settings(stages: str, *, trackers: Sequence[str] = ()) -> str:
    """A settings file in TOML.

    Args:
        stages: The sections of its stages.
        trackers: As in `trackers`.
    """
    return f"""
threads = 1
device = "cpu"
trackers = {json.dumps(list(trackers))}

[world]
env_id = "{LIBRARY_ID}"
imports = ["worlds.registration"]

[policy.model]
hidden = 32
layers = 1
heads = 1
kv_heads = 1
head_dim = 32
mlp = 64
context = 512
vocabulary = 600
{stages}"""
