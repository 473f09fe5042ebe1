"""A restless user: something that can be done with what stands on the page, whatever it leads to."""

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.tree import FIELDS
from palaestra.errors import CapabilityError
from palaestra.records import ToolCall
from palaestra.seeding import Stream

_TEXTS = ("ORD-1042", "7", "Zoë <b>")


def random_action(env: ToolEnv, stream: Stream) -> ToolCall:
    """An action of the browser, drawn from what stands on the page in front.

    Args:
        env: In an episode on the surface of pages.
        stream: Randomness.

    Raises:
        CapabilityError: the environment has no pages.
    """
    browser = env.episode.surface
    if not isinstance(browser, PageBrowser):
        raise CapabilityError(f"surface {env.surface!r} has no pages; make the environment with surface='pages'")
    element = stream.choice([element for element in browser.page(env.episode.state).walk() if element.id])
    if element.role in FIELDS:
        text = stream.choice([*(element.options or _TEXTS), ""])
        return ToolCall(tool="fill", arguments={"element": element.id, "text": text})
    return stream.choice(
        [
            *[ToolCall(tool="click", arguments={"element": element.id})] * 4,
            ToolCall(tool="back", arguments={}),
            ToolCall(tool="scroll", arguments={}),
            ToolCall(tool="tab_new", arguments={}),
            ToolCall(tool="tab_focus", arguments={"number": 1}),
        ]
    )
