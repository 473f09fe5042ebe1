"""Conversion of messages and tools to and from the chat interfaces of OpenAI and Anthropic."""

from palaestra.tools.chats.anthropic_chat import anthropic_tools, from_anthropic, to_anthropic
from palaestra.tools.chats.chat_turns import add_turn
from palaestra.tools.chats.openai_chat import from_openai, to_openai

__all__ = ["add_turn", "anthropic_tools", "from_anthropic", "from_openai", "to_anthropic", "to_openai"]
