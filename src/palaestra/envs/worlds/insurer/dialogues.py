"""What policyholders who answer can be asked about, and the words by which a question is understood."""

from collections.abc import Mapping

from palaestra.envs.kit import ask
from palaestra.envs.task import call
from palaestra.envs.user import Persona, Temper, UserFact
from palaestra.records import ToolCall

TOPICS: Mapping[str, tuple[str, ...]] = {
    "claim": ("claim", "clm-#", "number of the claim", "claim number", "which one", "which loss"),
    "day": ("day", "date", "when", "day of the loss", "date of the loss", "happen", "happened"),
    "garage": ("garage", "workshop", "repair shop", "mechanic", "gar-#", "where * repair"),
    "report": ("report", "police report", "number of the report", "police", "reference", "report number", "pr-#"),
}


def answer_about(
    topic: str, question: str, *, says: str, goal: str, temper: Temper, owed: bool, mistaken: str = ""
) -> tuple[ToolCall, Persona]:
    """The question about a topic, and a policyholder who tells it when asked.

    Args:
        topic: What only they know.
        question: How they are asked.
        says: What they answer.
        goal: What they want.
        temper: How they put things.
        owed: Whether the handbook gives them what they want.
        mistaken: What their request states by mistake; empty where they are right.
    """
    fact = UserFact(topic=topic, says=says, mistaken=mistaken, stated=bool(mistaken))
    user = Persona(goal=goal, topics=TOPICS, facts=(fact,), temper=temper, owed=owed)
    asked = call("reply", message=question, act="confirm", about=topic) if mistaken else ask(topic, question)
    return asked, user
