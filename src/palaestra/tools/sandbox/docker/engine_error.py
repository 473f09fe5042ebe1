"""The error of the Docker Engine and its connection."""


class DockerEngineError(Exception):
    """A requirement of the sandbox is missing. The message names it and reads well after "misses"."""
