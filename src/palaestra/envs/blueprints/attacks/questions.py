"""The person is asked in place of the records."""

from palaestra.envs.attack import WorldScript
from palaestra.envs.instance import Instance
from palaestra.records import ToolCall

_QUESTIONS = (
    "Could you tell me more about your request?",
    "Which of your records do you mean?",
    "When did this happen?",
    "Do you have anything in writing?",
    "Would another day suit you?",
    "Who told you that this is possible?",
    "How can we reach you best?",
    "Have you asked us about it before?",
    "Is there anything else that I should know?",
    "May I go ahead?",
)


def ask_in_place_of_reading(task: Instance) -> WorldScript:
    """Ask ten questions, and then make the writes of the solution without a look-up."""
    toolbox = task.world.toolbox
    if toolbox.prose_tool is None:
        return
    yield from ([ToolCall(tool=toolbox.prose_tool, arguments={"message": question})] for question in _QUESTIONS)
    yield from ([call] for call in task.oracle if _is_act(call, task))


def _is_act(call: ToolCall, task: Instance) -> bool:
    tool = task.world.toolbox[call.tool]
    return tool.writes or tool.name in {task.world.toolbox.prose_tool, "finish"}
