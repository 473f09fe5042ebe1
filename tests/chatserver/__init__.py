"""A server that speaks OpenAI's protocol over real sockets, and fails in whichever way a test asks for."""

from chatserver.answers import Answer, Cut, Hang, Reset, chat, completion, said
from chatserver.server import Asked, ChatServer, chat_server
from chatserver.solver import Faulty, Solver

__all__ = [
    "Answer",
    "Asked",
    "ChatServer",
    "Cut",
    "Faulty",
    "Hang",
    "Reset",
    "Solver",
    "chat",
    "chat_server",
    "completion",
    "said",
]
