"""What `gymnasium.make` knows of the test worlds."""

import gymnasium as gym

from palaestra import register_world

LIBRARY_ID = "test/Library-v0"


def register() -> None:
    """Register the sound library and every broken one; again does nothing."""
    if LIBRARY_ID in gym.registry:
        return
    register_world("worlds.library:LIBRARY", env_id=LIBRARY_ID)
    register_world("worlds.lab:LAB", env_id="test/Lab-v0")
    register_world("worlds.archive:ARCHIVE", env_id="test/Archive-v0")
    register_world("worlds.broken.isolation:UNROLLED", env_id="test/Unrolled-v0")
    register_world("worlds.broken.surfaces:SHOWS_LESS", env_id="test/ShowsLess-v0")
    register_world("worlds.broken.surfaces:SHOWS_MORE", env_id="test/ShowsMore-v0")
    register_world("worlds.broken.outside:CLOCKWORK", env_id="test/Clockwork-v0")
    from worlds.broken import BROKEN  # it needs the package that is being imported

    for case in BROKEN:
        _add(case.id, f"{case.env.__module__}:{case.env.__name__}", **case.kwargs)


def _add(gym_id: str, entry_point: str, **kwargs: str) -> None:
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        gym_id,
        entry_point=entry_point,
        kwargs={"env_id": LIBRARY_ID, **kwargs},
        disable_env_checker=True,
        order_enforce=False,
    )
