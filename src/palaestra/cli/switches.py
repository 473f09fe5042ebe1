"""Options for the variant of a world: surface, handbook, noise, request variation and temper of users."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson
import typer

from palaestra.errors import ConfigError, UnknownNameError
from palaestra.records import Json

SurfaceOption = Annotated[
    str | None, typer.Option("--surface", help="Tool surface, such as generic. Default: the conventional tools.")
]
SurfaceSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--surface-setting", help="Setting of the surface, such as dialect=browsergym. May be given several times."
    ),
]
HandbookOption = Annotated[
    int,
    typer.Option("--handbook", min=0, max=2**31 - 1, help="Handbook number; other numbers than 0 change rules."),
]
NoiseOption = Annotated[
    list[str] | None,
    typer.Option("--noise", help="Kind of noise, such as failures=10 or renames. May be given several times."),
]
WordingOption = Annotated[
    str | None,
    typer.Option("--wording", help="Style of request variation, such as casual. Default: the original words."),
]
TemperOption = Annotated[
    str | None, typer.Option("--temper", help="Temper of users who answer, such as heated. Default: the task's own.")
]


def switches(
    surface: str | None,
    handbook: int,
    noise: Sequence[str] | None,
    wording: str | None = None,
    temper: str | None = None,
    surface_settings: Sequence[str] | None = None,
) -> Mapping[str, Any]:
    """The arguments of `gymnasium.make` for these options, without those left out.

    Raises:
        ConfigError: a switch of noise has an invalid value, or a setting of the surface is not NAME=VALUE.
        UnknownNameError: there is no such switch of noise.
    """
    given: dict[str, Any] = {}
    if surface is not None:
        given["surface"] = surface
    if surface_settings:
        given["surface_settings"] = parse_named_values("--surface-setting", surface_settings)
    if handbook:
        given["handbook"] = handbook
    if noise:
        given["noise"] = _noise(noise)
    if wording is not None:
        given["wording"] = wording
    if temper is not None:
        given["temper"] = temper
    return given


def options_of(switches: Mapping[str, Any]) -> list[str]:
    """The options that give these arguments of `gymnasium.make`: the inverse of `switches`.

    Arguments that no option gives, such as files of tasks, are left out.
    """
    settings: Mapping[str, Json] = switches.get("surface_settings") or {}
    noise: Mapping[str, int | bool] = switches.get("noise") or {}
    return [
        *_option("--surface", switches.get("surface")),
        *(part for name, value in settings.items() for part in _option("--surface-setting", f"{name}={_text(value)}")),
        *_option("--handbook", switches.get("handbook") or None),
        *(
            part
            for name, value in noise.items()
            if value is not False
            for part in _option("--noise", name if value is True else f"{name}={value}")
        ),
        *_option("--wording", switches.get("wording")),
        *_option("--temper", switches.get("temper")),
    ]


def _option(flag: str, value: Json) -> list[str]:
    return [] if value is None else [flag, str(value)]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def parse_named_values(flag: str, texts: Sequence[str] | None) -> dict[str, Json]:
    """Parse the NAME=VALUE texts of a flag; a value that is not JSON is text.

    Args:
        flag: The flag, such as "--option", for errors.
        texts: The texts.

    Raises:
        ConfigError: a text does not have that form.
    """
    found: dict[str, Json] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ConfigError(f"{flag} {text}: write NAME=VALUE")
        try:
            found[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[name] = value
    return found


def _noise(texts: Sequence[str]) -> dict[str, int | bool]:
    from palaestra.envs.noise import Noise  # noqa: PLC0415  it loads worlds

    given = dict(map(_switch, texts))
    try:
        Noise.of(given)
    except UnknownNameError:
        raise
    except ValueError as error:
        raise ConfigError(f"--noise: {error}") from error
    return given


def _switch(text: str) -> tuple[str, int | bool]:
    name, equals, value = text.partition("=")
    if not equals:
        return name, True
    if not value.isdecimal():
        raise ConfigError(f"--noise {text}: write NAME=NUMBER, such as failures=10, or NAME for one that is on or off")
    return name, int(value)
