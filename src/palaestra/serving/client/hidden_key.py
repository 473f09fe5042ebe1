"""Environment specs that do not show the key: Gymnasium keeps the arguments of `make`, and programs log them."""

from copy import copy

from gymnasium.envs.registration import EnvSpec

from palaestra.secret import SecretText


def hide_key(spec: EnvSpec | None) -> EnvSpec | None:
    """A spec whose `repr` shows stars instead of the key. It makes an equal environment; its JSON holds the key."""
    if spec is None or not isinstance(spec.kwargs.get("key"), str):
        return spec
    hidden = copy(spec)
    hidden.kwargs = {**spec.kwargs, "key": SecretText(spec.kwargs["key"])}
    return hidden


class HiddenKeySpec:
    """Hides the key in the spec of an environment whenever the spec is set."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """The arguments of `make`."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = hide_key(spec)
