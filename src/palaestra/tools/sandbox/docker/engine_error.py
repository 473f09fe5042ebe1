"""What the Docker Engine, or the way to it, did not do."""


class DockerEngineError(Exception):
    """Something that the sandbox needs is missing; the message names it, so that it reads after "misses"."""
