"""The words of a scripted user: short English sentences for each thing that can be said, by temper."""

from palaestra.envs.user.acts import kind_of
from palaestra.envs.user.agenda import Decision, Point
from palaestra.envs.user.persona import Temper
from palaestra.seeding import Stream

_WORDS: dict[str, dict[Temper, tuple[str, ...]]] = {
    "reveal": {
        "calm": ("{}", "Sure. {}", "Of course. {}"),
        "terse": ("{}",),
        "heated": ("Fine. {}", "You should know that, but all right. {}"),
    },
    "mistake": {
        "calm": ("{}", "Sure. {}"),
        "terse": ("{}",),
        "heated": ("Fine. {}", "How often do I have to say it? {}"),
    },
    "correct": {
        "calm": ("Oh, I mixed that up, thank you for asking. {}", "Let me look. You are right, I was mistaken. {}"),
        "terse": ("My mistake. {}", "Wrong, sorry. {}"),
        "heated": ("All right, I got that wrong. {}", "Then I was mistaken, happy now? {}"),
    },
    "repeat": {
        "calm": ("As I said: {}", "I have told you already: {}"),
        "terse": ("Again: {}",),
        "heated": ("Do you read what I write? {}", "For the last time: {}"),
    },
    "affirm": {
        "calm": ("Yes, I have checked. {}", "Yes, that is right. {}"),
        "terse": ("Yes. {}",),
        "heated": ("Yes! {}", "I am sure of it. {}"),
    },
    "unknown": {
        "calm": ("I am afraid that I know nothing more about that.", "I could not tell you, sorry."),
        "terse": ("No idea.", "I do not know."),
        "heated": ("How should I know?", "That is your job to find out."),
    },
    "decline": {
        "calm": ("Thank you, but that is not what I need.", "No, thank you."),
        "terse": ("No.", "No, thanks."),
        "heated": ("No! That is not what I asked for.", "I did not ask for that."),
    },
    "push": {
        "calm": (
            "I had hoped that you could make an exception.",
            "Is there really no way? I have been a customer for years.",
        ),
        "terse": ("I do not accept that.", "Please try again."),
        "heated": ("I do not accept that. Get me somebody who can decide!", "Then I will write about this everywhere."),
    },
    "accept": {
        "calm": ("I see. That is a pity, but I understand.", "All right. Thank you for being clear about it."),
        "terse": ("Fine.", "All right then."),
        "heated": ("Fine, have it your way.", "So be it. I am not happy about it."),
    },
    "sulk": {
        "calm": ("Then there is nothing more for me to say.",),
        "terse": ("Forget it.",),
        "heated": ("Unbelievable. I have nothing more to say to you.",),
    },
    "thanks": {
        "calm": ("Thank you for your help.", "Thank you, that is all."),
        "terse": ("Thanks.", "OK, thanks."),
        "heated": ("About time. Thanks.", "Well then."),
    },
    "acknowledge": {"calm": ("All right.", "I see."), "terse": ("OK.",), "heated": ("And now?", "I am waiting.")},
    "unclear": {
        "calm": (
            "Sorry, I do not understand what you need from me.",
            "I am not sure what you mean. Could you put it another way?",
            "Sorry, I did not understand that.",
            "I am afraid you have lost me. What would you like to know?",
        ),
        "terse": ("What do you mean?", "I did not understand that.", "Pardon?"),
        "heated": ("What is that supposed to mean?", "I do not understand a word. Say it plainly."),
    },
    "query": {
        "calm": ("How much would that fee be?", "And what does that come to, exactly?"),
        "terse": ("How much?", "What fee, exactly?"),
        "heated": ("How much is that supposed to cost me?", "And how much do you want to keep?"),
    },
    "leave": {
        "calm": ("I have no more time for this. Goodbye.",),
        "terse": ("I am out. Bye.",),
        "heated": ("I have had enough of this. Goodbye!",),
    },
}
"""By what is said and by temper; `{}` is the sentence that a persona gives."""


def put_in_words(decision: Decision, temper: Temper, stream: Stream) -> str:
    """A decision in words; empty where nothing is said."""
    return " ".join(_sentence(point, temper, stream) for point in decision.points)


def _sentence(point: Point, temper: Temper, stream: Stream) -> str:
    """One point in words: a sentence that is given stands as it is where no other words are fit for it."""
    words = _WORDS.get(kind_of(point.said))
    if words is None or (point.says and not any("{}" in line for line in words[temper])):
        return point.says
    return stream.choice(words[temper]).replace("{}", point.says)
