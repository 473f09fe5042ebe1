"""The support desk's tools: 51 to read, write and wait with, besides talking, finishing and giving up."""

from palaestra.envs.kit import calculate, reading_tools
from palaestra.envs.worlds.storefront.tickets import TICKETS
from palaestra.envs.worlds.storefront.tools import casework, compute, fulfilment, money, people, records
from palaestra.tools import CONTROL, Toolbox

TOOLBOX = Toolbox(
    [
        *people.TOOLS,
        *reading_tools(TICKETS),
        *records.TOOLS,
        *compute.TOOLS,
        calculate,
        *money.TOOLS,
        *fulfilment.TOOLS,
        *casework.TOOLS,
        *CONTROL,
    ],
    prose_tool="reply",
)

__all__ = ["TOOLBOX"]
