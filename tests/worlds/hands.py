"""A restless user: something that can be done with what stands on the page."""

from palaestra.envs import ToolEnv
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.tree import FIELDS
from palaestra.records import ToolCall
from palaestra.seeding import Stream


def random_action(env: ToolEnv, stream: Stream) -> ToolCall:
    """Something that a restless user does with what stands on the page."""
    browser = env.episode.surface
    assert isinstance(browser, PageBrowser)
    elements = [element for element in browser.page(env.episode.state).walk() if element.id]
    element = stream.choice(elements)
    if element.role in FIELDS:
        text = stream.choice([*(element.options or ("ORD-1042", "7", "Zoë <b>")), ""])
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
