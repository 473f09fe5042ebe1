"""What an agent can call: typed functions as tools, a toolbox that runs them, action formats that read model text."""

if __name__ != "palaestra.tools":
    raise ImportError(f"this folder is palaestra.tools, not {__name__}; write `import palaestra.tools`")

from palaestra.tools.context import ToolContext
from palaestra.tools.control import CONTROL, finish, give_up, reply
from palaestra.tools.formats import FORMATS, ActionFormat, HermesFormat, JsonFormat, ParsedTurn
from palaestra.tools.sampling import legal_call, sample_call, sample_value
from palaestra.tools.tool import Tool, tool
from palaestra.tools.toolbox import CallResult, JournaledState, Toolbox
from palaestra.tools.wire import plain_call, plain_text

__all__ = [
    "CONTROL",
    "FORMATS",
    "ActionFormat",
    "CallResult",
    "HermesFormat",
    "JournaledState",
    "JsonFormat",
    "ParsedTurn",
    "Tool",
    "ToolContext",
    "Toolbox",
    "finish",
    "give_up",
    "legal_call",
    "plain_call",
    "plain_text",
    "reply",
    "sample_call",
    "sample_value",
    "tool",
]
