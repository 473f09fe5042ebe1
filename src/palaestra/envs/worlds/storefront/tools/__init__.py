"""The support desk's tools: 49 to read and write with, besides talking, finishing and giving up."""

from palaestra.envs.worlds.storefront.tools import casework, compute, fulfilment, money, people, records
from palaestra.tools import CONTROL, Toolbox

TOOLBOX = Toolbox(
    [
        *people.TOOLS,
        *records.TOOLS,
        *compute.TOOLS,
        *money.TOOLS,
        *fulfilment.TOOLS,
        *casework.TOOLS,
        *CONTROL,
    ],
    prose_tool="reply",
)

__all__ = ["TOOLBOX"]
