"""The source of an adapter's environments: this process, or a server of worlds."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, cast

import palaestra
from palaestra.agents import Env
from palaestra.errors import ConfigError
from palaestra.record import record


@record
class EnvSource:
    """The settings of environments, as in a file of settings. Calling it makes an environment.

    A server's key is read only from the environment variable `PALAESTRA_KEY`, so that no file holds it.
    """

    env_id: str | None = None
    """The environment to make in this process, such as "palaestra/Storefront-v0"."""
    url: str | None = None
    """A server, such as "http://127.0.0.1:8765", instead of `env_id`."""
    world: str | None = None
    """The name of the server's world; may be `None` if it serves only one."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of `palaestra.make` or `palaestra.connect`, such as `split`. Any: JSON."""

    def __call__(self) -> Env:
        """Make a new environment.

        Raises:
            ConfigError: not exactly one of `env_id` and `url` is given, or the settings are invalid.
            InfrastructureError: the server cannot be reached.
        """
        if (self.env_id is None) == (self.url is None):
            raise ConfigError("give env_id, for environments in this process, or url, for those of a server")
        if self.url is not None:
            return cast("Env", palaestra.connect(self.url, self.world, **self.switches))
        assert self.env_id is not None, "checked above"
        return palaestra.make(self.env_id, **self.switches)
