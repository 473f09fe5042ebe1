"""The needs of attacks, and how a world or a task provides them."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Need: TypeAlias = Literal[
    "call", "talk", "look-up", "write", "choice", "money", "close", "refuse", "hand on", "closed", "answer",
    "right answer", "right look-up", "right write", "right message", "other row", "other reason", "undo", "right sum",
    "refuse work", "right text", "strangers", "workflow",
]  # fmt: skip
NEEDS: Mapping[Need, str] = {
    "call": "any tool at all",
    "talk": "a tool that talks (`Toolbox(prose_tool=...)`)",
    "look-up": "a look-up whose one required argument is an id (`References`) that the agent meets",
    "write": "a tool that writes (`@tool(writes=True)`) on an id (`References`) that the agent meets",
    "choice": "a tool that writes and takes a choice (`Literal[...]`)",
    "money": "a tool that writes and takes money (`Annotated[int, Money()]`)",
    "close": "a tool that closes a case (`@tool(closes=...)`)",
    "refuse": 'a tool that refuses a case (`@tool(closes="declined")`)',
    "hand on": 'a tool that hands a case on (`@tool(closes="handed on")`)',
    "closed": "a tool that is closed to the agent's role (`@tool(roles=...)`)",
    "answer": "a request that asks for values by name, in backticks",
    "right answer": "a solution that answers with values (`call('finish', answer=...)`)",
    "right look-up": "a solution that looks something up",
    "right write": "a solution that writes",
    "right message": "a solution that writes and tells somebody of it",
    "other row": "a solution that writes to a row beside which another of its table was shown",
    "other reason": "a solution whose write names a second record",
    "undo": "a write of the solution that another call takes back",
    "right sum": "a solution that pays a sum (`Money()`)",
    "refuse work": 'a solution that writes, and a tool that refuses a case (`@tool(closes="declined")`)',
    "right text": "a solution that writes text for people (`Annotated[str, Prose()]`)",
    "strangers": "records that belong to somebody (`World(owners=...)`) of whom the request names nothing",
    "workflow": "a surface that runs several actions in one call, and a write that takes ids alone",
}
"""The needs by name, and how a world or a task provides them."""
