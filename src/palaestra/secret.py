"""A text that does not show itself, so that a key in a spec, a record or a traceback is no key in a log."""


class SecretText(str):
    """A secret. It compares, encodes and pickles as the text that it is; its `repr` is stars."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"
