"""Action formats: how a policy reads messages and writes calls."""

from palaestra.tools.formats.bare_json import JsonFormat
from palaestra.tools.formats.compact import CompactFormat
from palaestra.tools.formats.compact_tools import CompactToolsFormat
from palaestra.tools.formats.deepseek import DeepSeekFormat
from palaestra.tools.formats.format import ActionFormat, ChatFormat, Mark, ParsedTurn, Rendering, TurnPart
from palaestra.tools.formats.format_registry import FormatRegistry
from palaestra.tools.formats.function_calls import BROWSERGYM, UI_TARS, FunctionCallFormat
from palaestra.tools.formats.glm import GlmFormat
from palaestra.tools.formats.harmony import HarmonyFormat
from palaestra.tools.formats.hermes import HermesFormat
from palaestra.tools.formats.kimi_k2 import KimiK2Format
from palaestra.tools.formats.llama3 import Llama3Format
from palaestra.tools.formats.opaque import OpaqueFormat
from palaestra.tools.formats.planner import PlannedTurn, PlannerFormat, read_plan
from palaestra.tools.formats.python_code import PythonFormat
from palaestra.tools.formats.qwen import QwenFormat
from palaestra.tools.formats.qwen3_coder import Qwen3CoderFormat
from palaestra.tools.formats.smollm2 import SmolLM2Format
from palaestra.tools.formats.typed_text import bind_tools
from palaestra.tools.formats.with_facts import FactsFormat

FORMATS: FormatRegistry[ActionFormat] = FormatRegistry("action format")
FORMATS.register("deepseek-v3", DeepSeekFormat(fenced=True))
FORMATS.register("deepseek-v31", DeepSeekFormat(fenced=False))
FORMATS.register("glm", GlmFormat())
FORMATS.register("gpt-oss", HarmonyFormat())
FORMATS.register("hermes", HermesFormat())
FORMATS.register("json", JsonFormat())
FORMATS.register("kimi-k2", KimiK2Format())
FORMATS.register("llama3", Llama3Format())
FORMATS.register("qwen3-coder", Qwen3CoderFormat())
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
    QwenFormat(thinking=None),
    SmolLM2Format(),
    SmolLM2Format(described=True),
    PlannerFormat(CompactFormat(), name="planner"),
    PlannerFormat(QwenFormat(), name="planner-qwen", guided=True),
    PlannerFormat(QwenFormat(thinking=None), name="planner-qwen2.5", guided=True),
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
    "DeepSeekFormat",
    "FactsFormat",
    "FunctionCallFormat",
    "GlmFormat",
    "HarmonyFormat",
    "HermesFormat",
    "JsonFormat",
    "KimiK2Format",
    "Llama3Format",
    "Mark",
    "OpaqueFormat",
    "ParsedTurn",
    "PlannedTurn",
    "PlannerFormat",
    "PythonFormat",
    "Qwen3CoderFormat",
    "QwenFormat",
    "Rendering",
    "SmolLM2Format",
    "TurnPart",
    "bind_tools",
    "read_plan",
]
