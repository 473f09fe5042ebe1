"""The spec of an environment whose key does not show: Gymnasium keeps what `make` was given, and programs log it."""

from copy import copy

from gymnasium.envs.registration import EnvSpec

from palaestra.secret import SecretText


def hide_key(spec: EnvSpec | None) -> EnvSpec | None:
    """The spec, whose `repr` shows stars in place of the key; it makes an equal environment. Its JSON holds the key."""
    if spec is None or not isinstance(spec.kwargs.get("key"), str):
        return spec
    hidden = copy(spec)
    hidden.kwargs = {**spec.kwargs, "key": SecretText(spec.kwargs["key"])}
    return hidden


class HiddenKeySpec:
    """Holds the spec of an environment with its key hidden, whoever sets it."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What `make` was given."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = hide_key(spec)
