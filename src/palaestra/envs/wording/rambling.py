"""A long-winded message: the request stands whole between sentences that have nothing to do with it.

What is added names no id, number, day, amount, order, product or address, and asks for nothing.
"""

from palaestra.seeding import Stream

_BEFORE = (
    "I hope that this message finds you well.",
    "It has been raining here all week, and the garden looks the better for it.",
    "I am writing this on the train, so forgive me if I go on.",
    "My sister says that I should call, but I am no friend of the telephone.",
    "Let me begin by saying that I think highly of people who work with customers all day.",
    "I used to work in an office much like yours, and I know how mornings there can be.",
    "We have a new dog, which has taken to sleeping under my desk while I write.",
    "I am not the youngest any more, and computers and I do not always see eye to eye.",
    "You must get a great many messages like this one, so thank you for reading mine.",
    "A colleague told me that a clear message is half of the answer, and I do my best.",
    "I meant to write this yesterday, but then friends came over and we talked until late.",
    "Before I come to the point, I should say that I am fond of your website.",
)
_AFTER = (
    "That is all that I wanted to say about it.",
    "Now I must see to the dog, who wants to go out.",
    "I look forward to hearing from you, and I wish you a quiet day.",
    "By the way, the music while one waits on your telephone is rather nice.",
    "I hope that the weather is kinder where you are.",
    "My sister sends her regards, although you do not know her.",
    "If this came out too long, blame the train, which stands still again.",
    "Some day I will learn to write short messages, as my children keep telling me.",
    "Give my best to whoever reads this first.",
    "I will make myself a cup of tea now and leave you to your work.",
)
_LINK = ("Now to the reason why I write.", "But to the point.", "Here is what this is about.", "So, to my request.")


def rambling(paragraphs: list[str], stream: Stream) -> list[str]:
    """The paragraphs with unrelated context before and after them; the request itself is not broken up."""
    before = stream.sample(_BEFORE, stream.between(3, 5))
    after = stream.sample(_AFTER, stream.between(2, 4))
    return [" ".join(before), stream.choice(_LINK), *paragraphs, " ".join(after)]
