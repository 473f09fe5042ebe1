"""Actions as programs write them: calls in the forms of Palaestra, OpenAI and Anthropic, whole messages, and lists."""

from palaestra.tools.actions.action_reader import read_action, read_model_value
from palaestra.tools.actions.action_reading import ActionReading, read_arguments, read_plain_call

__all__ = ["ActionReading", "read_action", "read_arguments", "read_model_value", "read_plain_call"]
