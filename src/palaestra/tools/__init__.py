"""The tools of agents: typed functions as tools, a toolbox that runs them, and action formats that read model text."""

if __name__ != "palaestra.tools":
    raise ImportError(f"this folder is palaestra.tools, not {__name__}; write `import palaestra.tools`")

from palaestra.tools.actions import ActionReading, read_action, read_plain_call
from palaestra.tools.chats import add_turn, anthropic_tools, from_anthropic, from_openai, to_anthropic, to_openai
from palaestra.tools.composite import join_answers, run_composite
from palaestra.tools.context import ToolContext
from palaestra.tools.control import CONTROL, ActKind, finish, give_up, reply
from palaestra.tools.formats import (
    CHAT_FORMATS,
    FORMATS,
    ActionFormat,
    ChatFormat,
    CompactFormat,
    CompactToolsFormat,
    FactsFormat,
    HermesFormat,
    JsonFormat,
    Mark,
    OpaqueFormat,
    ParsedTurn,
    PlannedTurn,
    PlannerFormat,
    PythonFormat,
    QwenFormat,
    Rendering,
    SmolLM2Format,
    TurnPart,
    bind_tools,
    read_plan,
)
from palaestra.tools.reads import Reads
from palaestra.tools.sampling import legal_call, sample_call, sample_value
from palaestra.tools.schemas import Schemas
from palaestra.tools.short_schemas import short_schema
from palaestra.tools.tool import Tool, tool
from palaestra.tools.toolbox import CallResult, JournaledState, Toolbox
from palaestra.tools.typed_answers import TYPED_CONTROL
from palaestra.tools.wire import plain_call, plain_text

__all__ = [
    "CHAT_FORMATS",
    "CONTROL",
    "FORMATS",
    "TYPED_CONTROL",
    "ActKind",
    "ActionFormat",
    "ActionReading",
    "CallResult",
    "ChatFormat",
    "CompactFormat",
    "CompactToolsFormat",
    "FactsFormat",
    "HermesFormat",
    "JournaledState",
    "JsonFormat",
    "Mark",
    "OpaqueFormat",
    "ParsedTurn",
    "PlannedTurn",
    "PlannerFormat",
    "PythonFormat",
    "QwenFormat",
    "Reads",
    "Rendering",
    "Schemas",
    "SmolLM2Format",
    "Tool",
    "ToolContext",
    "Toolbox",
    "TurnPart",
    "add_turn",
    "anthropic_tools",
    "bind_tools",
    "finish",
    "from_anthropic",
    "from_openai",
    "give_up",
    "join_answers",
    "legal_call",
    "plain_call",
    "plain_text",
    "read_action",
    "read_plain_call",
    "read_plan",
    "reply",
    "run_composite",
    "sample_call",
    "sample_value",
    "short_schema",
    "to_anthropic",
    "to_openai",
    "tool",
]
