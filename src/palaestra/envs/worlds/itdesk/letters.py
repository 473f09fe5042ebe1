"""Held-out wordings of requests: what the split "heldout" alone has."""

from collections.abc import Mapping

from palaestra.envs.kit import LetterKind, Surroundings, Voice

_COLLEAGUES = Surroundings(
    subjects=("Something for the desk", "Need a hand", "Small favour", "For this week", "Quick matter", "A wish"),
    voices=(
        (
            Voice(
                greetings=("Good morning desk,", "Dear service desk,", "Hello everybody,", "Greetings,"),
                histories=(
                    "The new coffee machine is a success, by the way.",
                    "My train was late once more this morning.",
                    "Thank you for the help with the projector last time.",
                ),
                closings=("Kind regards.", "Many thanks in advance.", "All the best.", "Much appreciated."),
            ),
            60,
        ),
        (
            Voice(
                greetings=("Hey,", "Hi desk.", "Short one:", "Me again."),
                histories=("In a hurry, sorry.", "Writing between two meetings.", "On my way to the canteen."),
                closings=("Thx.", "Cheers.", "Bye for now.", "Ta."),
            ),
            40,
        ),
    ),
    asides=(
        "The lamp in our corridor has been repaired, so forget about that one.",
        "You need not ring me up.",
        "I shall be at the summer party on Friday, come along.",
    ),
)
_REASONS = (
    "My team lead has brought it up in our meeting.",
    "We have talked about it in the team for some days.",
    "Things would run more smoothly with it.",
    "It has been on my list for a while.",
)


def _kind(topic: str, facts: str, wishes: tuple[str, ...], summaries: tuple[str, ...]) -> LetterKind:
    return LetterKind(
        topic=topic,
        around=_COLLEAGUES,
        facts=frozenset(facts.split()),
        wishes=wishes,
        reasons=_REASONS,
        summaries=summaries,
    )


LETTERS: Mapping[str, LetterKind] = {
    "role": _kind(
        "access",
        "role",
        (
            "For my work I have to get into the role {role}; set it up for me.",
            "Would you add {role} to what I may use?",
            "Could the role {role} be put on my list?",
        ),
        ("Just that one role.", "Nothing beyond it."),
    ),
    "role-until": _kind(
        "access",
        "role day",
        (
            "Add {role} to what I may use, with {day} as the last day.",
            "Up to and including {day} I have to work as {role}; set that up.",
        ),
        ("After that it can go.", "Only for that time."),
    ),
    "unlock": _kind(
        "account",
        "",
        (
            "The system does not let me in any more; it says that my account is locked. Open the lock, will you?",
            "My login is locked. Get me back in.",
            "I am shut out: the screen says locked. Release it, if you would.",
        ),
        ("I remember the password.", "So: the lock."),
    ),
    "joiner": _kind(
        "account",
        "name",
        (
            "{name} is new with us; set the account up.",
            "Get a login ready for {name}, who is about to start.",
            "We welcome {name} soon. Let there be an account.",
        ),
        ("The desk is ready already.", "Only the account, nothing else."),
    ),
    "mover": _kind(
        "access",
        "name",
        (
            "{name} has come over to us from another department. Clear away the access of the old job.",
            "Since {name} works with us now, take off whatever belonged to the former place.",
        ),
        ("What is needed here stays.", "Only the old things."),
    ),
    "close": _kind(
        "account",
        "name",
        (
            "{name} is no longer with us; the account can be closed for good.",
            "Shut the account of {name}, who has left us, for ever.",
        ),
        ("For good, that is.", "It is not needed again."),
    ),
    "freeze": _kind(
        "account",
        "name",
        (
            "{name} is going. Put the account on ice.",
            "Make sure that nobody logs in as {name} from now on: freeze it.",
        ),
        ("The data stay, of course.", "A freeze will do."),
    ),
    "take-role": _kind(
        "access",
        "name role",
        (
            "{name} should not work as {role} any longer; remove that.",
            "Strike {role} from what {name} may use.",
        ),
        ("The rest stays as it is.", "It is about that one role."),
    ),
    "tell-end": _kind(
        "question",
        "name role",
        (
            "What is the last day on which {name} can work as {role}?",
            "I would like to know when {role} ends for {name}.",
        ),
        ("I only want to know the day.", "Change nothing."),
    ),
    "extend": _kind(
        "access",
        "role",
        (
            "My time as {role} runs out soon; give me more of it.",
            "I am not done as {role}. Let it run on for me.",
        ),
        ("A bit longer, that is.", "The same access, a later end."),
    ),
    "offboard": _kind(
        "account",
        "name",
        (
            "{name} does not work here any more. Put the account on ice and strip it of whatever it may do.",
            "We have parted from {name}: no more logins, no more roles, if you would.",
        ),
        ("All of it.", "Every single one."),
    ),
    "stand-in": _kind(
        "access",
        "name first last",
        (
            "I am away; between {first} and {last}, both included, {name} signs off access for my team.",
            "Enter {name} as the one who approves access for me, {first} to {last}.",
        ),
        ("We have talked it through.", "It is only about access."),
    ),
    "wrong-tag": _kind(
        "device",
        "device",
        (
            "{device} was stolen from my bag. Put it down as lost.",
            "I cannot find {device} any more; mark it as lost.",
        ),
        ("It carries that label.", "I am quite upset."),
    ),
    "seat": _kind(
        "licence",
        "product",
        (
            "I would like to work with {product}. Sort out a licence.",
            "Have me registered for {product}.",
        ),
        ("One seat is plenty.", "Just for me."),
    ),
    "laptop": _kind(
        "device",
        "",
        (
            "My laptop has become slow with age; swap it for another.",
            "It is time for another laptop. Send me one from your shelf.",
        ),
        ("I will hand the old one in.", "Any model will do."),
    ),
    "phone": _kind(
        "device",
        "",
        (
            "The screen of my work phone is dead. Swap it.",
            "My work phone does not charge any more; I need a different one.",
        ),
        ("I will hand the dead one in.", "Any model will do."),
    ),
    "monitor": _kind(
        "device",
        "",
        (
            "One more monitor would help me; have one brought to my desk.",
            "My desk has room for one more monitor. Send me one.",
        ),
        ("One is all.", "Any size will do."),
    ),
    "lost": _kind(
        "device",
        "",
        (
            "Something of the company's has gone missing: I cannot find what you gave me. Report it.",
            "I must have left one of my things on the bus. Put it down as missing.",
        ),
        ("I have searched everywhere.", "It will not turn up again."),
    ),
    "swap": _kind(
        "shift",
        "day",
        (
            "The on-call shift starting {day} does not suit me, and one of the others will step in. Change the plan.",
            "Rewrite the on-call plan: from {day} on another one does my turn.",
        ),
        ("We have agreed on it among us.", "The plan only has to say so."),
    ),
    "cover": _kind(
        "shift",
        "day",
        (
            "I shall be in hospital when my on-call shift of {day} begins. Look for one of the rota to step in.",
            "My on-call turn from {day} on has to be done by another of the rota; choose one who may.",
        ),
        ("You decide who it is.", "I have not asked any of them."),
    ),
    "schedule": _kind(
        "change",
        "change day",
        (
            "Set {day} as the day of {change}.",
            "{change} ought to take place on {day}; note it in the calendar of changes.",
        ),
        ("No other day is of use.", "The crew is ready."),
    ),
    "approve": _kind(
        "change",
        "change",
        (
            "I am fine with {change}; note my approval.",
            "{change} has my blessing. Record it as approved.",
        ),
        ("I have read the plan.", "It may go ahead, from my side."),
    ),
}
"""Every kind of request that a family words."""
