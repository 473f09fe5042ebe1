"""What who asked is told when a request is refused, by the section that refuses it: the reason, in plain words."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "ID-1": "Only the line manager of a colleague may ask for that.",
    "ID-2": "It was locked so often that the security team will look into it before you can log in.",
    "JOI-1": "It is too early for this account; please ask again closer to the first day.",
    "JOI-2": "The contract is too long for the desk alone; the people team will look into it.",
    "MOV-1": "The move was too recent: the former roles may be kept for some days.",
    "LEA-1": "The last day is too recent, or not over yet; please ask again later.",
    "LEA-3": "The approval has lapsed, since the colleague who gave it has left. Please get a new one.",
    "LEA-4": "A system still belongs to the leaver, so the board will decide about it first.",
    "ACC-1": "There is no approval for this role that still counts. Please get a new one.",
    "ACC-2": "Whoever approved it did not stand in for your line manager in matters of access on that day.",
    "ACC-3": "The role needs the approvals of two persons, and nobody approves for themselves.",
    "ACC-4": "The course that the role needs was passed too long ago. Please take it once more.",
    "ACC-5": "You hold a role that must not be combined with this one.",
    "ACC-6": "That would be longer than this access may last in all.",
    "ACC-7": "Contractors do not become administrators.",
    "ACC-8": "Whoever stands in must be there on all of the days, and there may not be too many of them.",
    "LIC-1": "You have a licence of that product already.",
    "LIC-2": "All licences are in use; procurement will look into it.",
    "HW-1": "Your laptop is not old enough to be replaced.",
    "HW-2": "You hold as many monitors as a person may.",
    "HW-3": "The device is not encrypted, so the security team will look into it.",
    "HW-4": "There is none in stock at your site; procurement will look into it.",
    "HW-5": "Your earlier request was too recent; please ask again later.",
    "ONC-1": "Your colleague would not have enough rest between two shifts.",
    "ONC-2": "Nobody else of the rota can do it; operations will look into it.",
    "ONC-3": "Your colleague is not a member of this rota.",
    "MNT-1": "The day leaves too little notice for this change, or lies outside of its window.",
    "MNT-2": "The system must not be changed on that day, because of a freeze.",
    "MNT-3": "A change is approved by the owner of its system, and by nobody who carries it out.",
    "MNT-4": "A change of that length is for the board; the board will look into it.",
    "PRV-1": "I may tell that to nobody but the line manager.",
}
"""By section; LEA-2 has a reply of its own, since something is done besides."""
