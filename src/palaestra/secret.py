"""A text that is not shown, so that a key in a spec, a record or a traceback does not get into a log."""


class SecretText(str):
    """A secret. It compares, encodes and pickles like its text; its `repr` is stars."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"
