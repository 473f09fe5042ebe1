"""What an adjuster can do in the claims department."""

from palaestra.envs.worlds.insurer.tools.toolbox import CASES, TOOLBOX

__all__ = ["CASES", "TOOLBOX"]
