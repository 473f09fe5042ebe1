"""Other words for the same request: rules that rewrite what the user writes and leave alone what it is about."""

if __name__ != "palaestra.envs.wording":
    raise ImportError(f"this folder is palaestra.envs.wording, not {__name__}; write `import palaestra.envs.wording`")

from palaestra.envs.wording.request import reword
from palaestra.envs.wording.styles import WORDINGS

__all__ = ["WORDINGS", "reword"]
