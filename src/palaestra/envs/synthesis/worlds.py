"""Generated worlds by number: `WORLD_17` is the world of number 17, made when it is asked for."""

from functools import lru_cache

from palaestra.envs.blueprints import compile_blueprint
from palaestra.envs.blueprints.compilation import KEPT
from palaestra.envs.synthesis.generator import generate_blueprint
from palaestra.envs.world import World

_NAME = "WORLD_"


@lru_cache(maxsize=KEPT)
def numbered_world(number: int) -> World:
    """The world of a number.

    Raises:
        BlueprintError: the domain lacks words of a mechanism.
    """
    return compile_blueprint(generate_blueprint(number)).world


def __getattr__(name: str) -> World:
    number = name.removeprefix(_NAME)
    if name.startswith(_NAME) and number.isdecimal() and str(int(number)) == number:
        return numbered_world(int(number))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; a world is called {_NAME}17")
