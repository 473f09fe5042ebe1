"""The wording of a rule that a value broke while pydantic read it."""

_PREFIXES = ("Value error, ", "Assertion failed, ")


def plain_rule(message: str) -> str:
    """A rule as its author wrote it, without the prefix that pydantic adds to the message of a `ValueError`."""
    for prefix in _PREFIXES:
        message = message.removeprefix(prefix)
    return message
