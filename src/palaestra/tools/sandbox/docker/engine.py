"""The parts of the Docker Engine that this backend needs; only this file imports the SDK.

Each request has its own connection, so threads and forked processes share none.
"""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import docker  # type: ignore[import-untyped]  # the SDK has no types
from docker.errors import APIError, DockerException, NotFound  # type: ignore[import-untyped]
from docker.utils import kwargs_from_env  # type: ignore[import-untyped]
from requests.exceptions import RequestException

from palaestra.tools.sandbox.docker.engine_error import DockerEngineError
from palaestra.tools.sandbox.docker.hardening import ContainerConfig

_SECONDS = 60
"""Seconds for the engine to answer a request."""
_LOCAL = ("unix://", "http+unix://")
_FAULTS = (DockerException, RequestException, OSError)
_NEWEST = "1.44"
"""The newest version of the engine's interface that is requested."""
_GOING = (404, 409)
"""The engine's answers about a container that is gone or being removed."""


class DockerEngine:
    """The engine that `DOCKER_HOST` and related variables name.

    Raises:
        DockerEngineError: it is on another machine.
    """

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {**kwargs_from_env()}  # Any: arguments of the SDK
        self._address: str = self._settings.setdefault("base_url", "unix:///var/run/docker.sock")
        if not self._address.startswith(_LOCAL):
            raise DockerEngineError(f"a Docker Engine on this machine (DOCKER_HOST is {self._address})")

    def has_image(self, name: str) -> bool:
        """Whether the engine has an image."""
        with self._connection() as client:
            try:
                client.inspect_image(name)
            except NotFound:
                return False
            return True

    def security_options(self) -> tuple[str, ...]:
        """The engine's security options for containers."""
        with self._connection() as client:
            return tuple(client.info().get("SecurityOptions") or ())

    def start_container(self, config: ContainerConfig) -> str:
        """Start a container; returns its id."""
        with self._connection() as client:
            made: str = client.create_container_from_config(config)["Id"]
            try:
                client.start(made)
            except BaseException:
                with suppress(*_FAULTS):
                    client.remove_container(made, force=True)
                raise
            return made

    def is_running(self, container: str) -> bool:
        """Whether a container runs."""
        with self._connection() as client:
            try:
                return bool(client.inspect_container(container)["State"]["Running"])
            except NotFound:
                return False

    def remove_container(self, container: str) -> None:
        """End a container and remove it, whatever it does. One that is gone or being removed is ignored."""
        with self._connection() as client:
            try:
                client.remove_container(container, force=True)
            except APIError as error:
                if error.status_code not in _GOING:
                    raise

    def labelled_containers(self, label: str) -> dict[str, str]:
        """The containers with a label, each with the label's value."""
        with self._connection() as client:
            found: list[dict[str, Any]] = client.containers(all=True, filters={"label": label})
            return {one["Id"]: one["Labels"][label] for one in found}

    @contextmanager
    def _connection(self) -> Generator[Any]:
        """A client of the SDK for one request. Any: it has no types.

        Raises:
            DockerEngineError: the engine does not answer, or its answer is an error.
        """
        client: Any = None
        try:
            _knock(self._address)
            client = docker.APIClient(**self._settings, version=_version(self._address), timeout=_SECONDS)
            yield client
        except APIError as error:
            raise DockerEngineError(f"what the Docker Engine refused: {error.explanation or error}") from error
        except _FAULTS as error:
            raise DockerEngineError(
                f"a Docker Engine that answers at {self._address} ({error}); start dockerd"
            ) from error
        finally:
            if client is not None:
                client.close()


def _knock(address: str) -> None:
    """Connect to the engine's socket and close it: on failure, the SDK would leave a socket open.

    Raises:
        OSError: nothing listens.
    """
    with socket.socket(socket.AF_UNIX) as knock:
        knock.connect(address.partition("://")[2])


@lru_cache(maxsize=8)
def _version(address: str) -> str:
    """The version of the interface that both the engine and the SDK support."""
    settings: Any = {**kwargs_from_env(), "base_url": address}
    client = docker.APIClient(**settings, version=_NEWEST, timeout=_SECONDS)
    try:
        offered: str = client.version(api_version=False)["ApiVersion"]
    finally:
        client.close()
    return min(offered, _NEWEST, key=lambda version: [int(part) for part in version.split(".")])
