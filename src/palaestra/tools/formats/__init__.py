"""Action formats: how a policy reads messages and writes calls."""

from palaestra.tools.formats.bare_json import JsonFormat
from palaestra.tools.formats.compact import CompactFormat
from palaestra.tools.formats.compact_tools import CompactToolsFormat
from palaestra.tools.formats.format import ActionFormat, ChatFormat, Mark, ParsedTurn, Rendering, TurnPart
from palaestra.tools.formats.format_registry import FormatRegistry
from palaestra.tools.formats.function_calls import BROWSERGYM, UI_TARS, FunctionCallFormat
from palaestra.tools.formats.hermes import HermesFormat
from palaestra.tools.formats.opaque import OpaqueFormat
from palaestra.tools.formats.planner import PlannedTurn, PlannerFormat, read_plan
from palaestra.tools.formats.python_code import PythonFormat
from palaestra.tools.formats.qwen import QwenFormat
from palaestra.tools.formats.smollm2 import SmolLM2Format
from palaestra.tools.formats.with_facts import FactsFormat

FORMATS: FormatRegistry[ActionFormat] = FormatRegistry("action format")
FORMATS.register("hermes", HermesFormat())
FORMATS.register("json", JsonFormat())
FORMATS.register("python", PythonFormat("namespaces"))
FORMATS.register("browsergym", FunctionCallFormat(BROWSERGYM))
FORMATS.register("ui-tars", FunctionCallFormat(UI_TARS))

CHAT_FORMATS: FormatRegistry[ChatFormat] = FormatRegistry("chat format")
_CHATS: tuple[ChatFormat, ...] = (
    CompactFormat(),
    CompactToolsFormat(),
    OpaqueFormat(),
    QwenFormat(),
    QwenFormat(thinking=True),
    SmolLM2Format(),
    SmolLM2Format(described=True),
    PlannerFormat(CompactFormat(), name="planner"),
    PlannerFormat(QwenFormat(), name="planner-qwen", guided=True),
    PlannerFormat(SmolLM2Format(), name="planner-smollm2", guided=True),
)
for chat in (*_CHATS, *(FactsFormat(chat) for chat in _CHATS if chat.plain_answers)):
    FORMATS.register(chat.name, chat)
    CHAT_FORMATS.register(chat.name, chat)

__all__ = [
    "CHAT_FORMATS",
    "FORMATS",
    "ActionFormat",
    "ChatFormat",
    "CompactFormat",
    "CompactToolsFormat",
    "FactsFormat",
    "FunctionCallFormat",
    "HermesFormat",
    "JsonFormat",
    "Mark",
    "OpaqueFormat",
    "ParsedTurn",
    "PlannedTurn",
    "PlannerFormat",
    "PythonFormat",
    "QwenFormat",
    "Rendering",
    "SmolLM2Format",
    "TurnPart",
    "read_plan",
]
