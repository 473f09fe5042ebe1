"""Turns in the formats of other models, and what vLLM's own tool parsers read in them.

`parses.json` holds what vLLM 0.32.0 read. Loading vLLM takes minutes, so its answers are recorded and not asked for
in every run. To record them again, from the root:

    PYTHONPATH=src .venv/bin/python tests/vllmparsers/recorder.py turns > turns.json
    .venv-vllm/bin/python tests/vllmparsers/recorder.py parse turns.json > tests/vllmparsers/parses.json
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# vLLM has an environment of its own, so its types are unknown here.

# ruff: noqa: RUF001  the models' own tokens

import json
import sys
from pathlib import Path
from typing import Any

PARSES = Path(__file__).with_name("parses.json")
"""What was recorded."""
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "file_case",
        "description": "File a case.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "count": {"type": "integer"},
                "share": {"type": "number"},
                "urgent": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "extra": {"type": "object"},
            },
        },
    },
}
LIST_CASES: dict[str, Any] = {
    "type": "function",
    "function": {"name": "list_cases", "description": "List.", "parameters": {"type": "object", "properties": {}}},
}
TOOLS = [TOOL, LIST_CASES]
CALLS: list[list[tuple[str, dict[str, Any]]]] = [
    [("list_cases", {})],
    [("file_case", {"title": "Broken screen", "count": 2, "urgent": True})],
    [("file_case", {"title": "5", "count": 5, "share": 0.25, "urgent": False, "tags": ["a", "b"]})],
    [("file_case", {"title": "true", "extra": {"a": [1, {"b": None}], "é": "ü"}})],
    [("file_case", {"title": " two\nlines\n", "note": None})],
    [("file_case", {"title": '{"a": 1}', "note": 'it\'s "quoted" \\ and {braces}'})],
    [("file_case", {"title": "a < b && c > d", "note": "```json\n{}\n```"})],
    [("file_case", {"title": "", "tags": [], "extra": {}})],
    [("list_cases", {}), ("file_case", {"title": "second", "count": -3})],
]
PARSERS = {
    "llama3": "llama3_json",
    "kimi-k2": "kimi_k2",
    "deepseek-v3": "deepseek_v3",
    "deepseek-v31": "deepseek_v31",
    "glm": "glm45",
    "qwen3-coder": "qwen3_coder",
    "hermes": "hermes",
}
"""By format: the name of vLLM's parser. Its parser for gpt-oss reads tokens, and SmolLM2 has none."""
WRITTEN_BY_MODELS: dict[str, list[str]] = {
    "llama3": [
        '<|python_tag|>{"name": "list_cases", "parameters": {}}',
        '{"name": "file_case", "arguments": {"title": "x"}}',
        '{\n  "name": "file_case",\n  "parameters": {\n    "count": 3\n  }\n}',
        '{"name": "list_cases", "parameters": {}};{"name": "list_cases", "parameters": {}}',
    ],
    "kimi-k2": [
        (
            "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.list_cases:4<|tool_call_argument_begin|>{}"
            "<|tool_call_end|><|tool_calls_section_end|>"
        ),
        (
            "<|tool_calls_section_begin|>\n<|tool_call_begin|>functions.file_case:0\n<|tool_call_argument_begin|>"
            '{"count": 3}<|tool_call_end|>\n<|tool_calls_section_end|>'
        ),
    ],
    "deepseek-v3": [
        (
            "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>file_case\n```json\n"
            '{"count": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
    ],
    "deepseek-v31": [
        (
            "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>file_case<｜tool▁sep｜>"
            '{"count": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        ),
    ],
    "glm": [
        "<tool_call>list_cases</tool_call>",
        "I look.\n<tool_call>file_case\n<arg_key>count</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        (
            "<tool_call>file_case<arg_key>urgent</arg_key><arg_value>true</arg_value>"
            "<arg_key>note</arg_key><arg_value>null</arg_value></tool_call>"
        ),
    ],
    "qwen3-coder": [
        "<tool_call>\n<function=list_cases>\n</function>\n</tool_call>",
        "I look.\n<tool_call>\n<function=file_case>\n<parameter=urgent>\nTrue\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=file_case>\n<parameter=title>x</parameter>\n</function>\n</tool_call>",
        "<function=file_case>\n<parameter=count>\n3\n</parameter>\n</function>\n</tool_call>",
    ],
    "hermes": [
        'I look.\n<tool_call>\n{"name": "file_case", "arguments": {"count": 3}}\n</tool_call>',
    ],
}


def turns() -> list[dict[str, str]]:
    """Every turn of the corpus, with the name of its format."""
    from palaestra.records import ToolCall
    from palaestra.tools import FORMATS, bind_tools

    written = [
        {
            "format": name,
            "text": bind_tools(FORMATS.get(name), TOOLS).render(
                [ToolCall(tool=tool, arguments=arguments) for tool, arguments in calls]
            ),
        }
        for name in PARSERS
        for calls in CALLS
    ]
    return written + [{"format": name, "text": text} for name, texts in WRITTEN_BY_MODELS.items() for text in texts]


def parse(given: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What vLLM reads; runs where vLLM is."""
    import re

    from tokenizers import Tokenizer, models, pre_tokenizers  # type: ignore[import-not-found, unused-ignore]
    from transformers import PreTrainedTokenizerFast  # type: ignore[import-not-found, unused-ignore]
    from vllm.entrypoints.openai.chat_completion.protocol import (  # type: ignore[import-not-found, unused-ignore]
        ChatCompletionRequest,
    )
    from vllm.tool_parsers import ToolParserManager  # type: ignore[import-not-found, unused-ignore]

    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    plain = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain)
    tags = {tag for turn in given for tag in re.findall(r"<[|｜][^<>]*?[|｜]>|</?tool_call>", turn["text"])}
    tokenizer.add_special_tokens(
        {"additional_special_tokens": sorted({*tags, "<|python_tag|>", "<think>", "</think>"})}
    )
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], tools=TOOLS)
    parsed: list[dict[str, Any]] = []
    for turn in given:
        parser = ToolParserManager.get_tool_parser(PARSERS[turn["format"]])(tokenizer, request.tools)
        said = parser.extract_tool_calls(turn["text"], request)
        calls = [
            {"id": call.id, "tool": call.function.name, "arguments": json.loads(call.function.arguments)}
            for call in said.tool_calls
        ]
        ids = turn["format"] == "kimi-k2"  # the others' are drawn at random
        for call in calls:
            if not ids:
                del call["id"]
        parsed.append({**turn, "calls": calls, "content": said.content})
    return parsed


if __name__ == "__main__":
    answer = turns() if sys.argv[1] == "turns" else parse(json.loads(Path(sys.argv[2]).read_text()))
    print(json.dumps(answer, ensure_ascii=False, indent=1))
