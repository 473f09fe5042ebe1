"""What a message says about a fee: that there is one and how much, that there may be one, or that there is none.

An agreement binds to a fee only where the fee was stated: to come, the reader's own, with an amount or a share, and
not denied in the same message. A clause states a fee only where its words have one of a few shapes and nothing in it
is negated, past, doubtful, reported or somebody else's. Whatever is in doubt counts as not stated.
`fee_words` holds the vocabulary; the rules here are patterns over its codes.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from palaestra.envs.user.fee_words import encode_clause
from palaestra.envs.user.money import AMOUNT
from palaestra.envs.user.sentences import Sentence

FeeTalk: TypeAlias = Literal["unspoken", "open", "stated", "denied"]
"""What is said about a fee to come: nothing, that it is due or possible, its amount or share too, or that none is."""

_SEGMENT = re.compile(r"[,;()]| (?=(?:but|so|and|which|because|since|though|although|while|however|otherwise|yet)\b)")

# What a clause does with an amount, over the codes of its words.
_FEE_HAS_AMOUNT = re.compile(
    r"F[dioa]{0,5}[oC][dio]{0,3}A(?!G)|F[io]{0,2}A(?!G)|A[io]?d?F|A[idC]{0,4}a[id]{0,2}F|AC[id]{0,3}F"
)
_TAKES_AMOUNT = re.compile(
    r"[TD][id]{0,4}A(?!G)|A[^GNPFA]{0,7}[TtDE]|[tE][ida]{0,3}A(?!G)|[TD][^GNPA]{0,4}C[id]{0,2}A|M[idF]{0,4}A(?!G)|AM$"
)
_CHARGES_AMOUNT = re.compile(r"[KX][id]{0,4}A(?!G)|A[^GNPFA]{0,7}[Kkx]|[kx][id]{0,3}A(?!G)")
_IS_AMOUNT = re.compile(r"[id]C[id]{0,3}A(?!G)")

# What it denies.
_DENIES = re.compile(
    r"N[iCoKkDEtTXx]{0,6}F|N[iCo]{0,5}[DEKk]|N[iCo]{0,5}[TtXx][io]{0,2}A|F[^NSF]{0,6}N(?:[ikEtxKD]|$)|F[^NSF]{0,5}W"
    r"|W[^NSF]{0,4}F|(?<!N)g|[KXTD][io]{0,2}N|FC?i?N$"
)
_DENIES_IT = re.compile(r"CN$|^[id]{0,3}N$|^[id]{0,2}N[ikKEtTxX]|^[iC]{0,2}[Wg]$|N[id]{0,4}[XTtx]$|C[id]?[Wg]$")
"""Denies a fee that was named before: "It is zero", "which you need not pay"."""
_SHOP_PAYS = re.compile(
    r"\b(?:we|i|us)(?: \w+){0,3} (?:bear|cover|absorb|pay|reimburse|refund|return|credit|eat|swallow|assume|shoulder)"
    r"(?: \w+){0,3} (?:fee|deduction|surcharge|charge|costs?)\b"
)

# What makes a statement about a fee no statement of the reader's own fee to come.
_PAST = re.compile(r"P[^N]{0,3}[TtKkDEXxFA]|F[id]{0,2}P|P[id]{0,2}N[id]{0,3}[FTtKkDEXx]")
_PASSIVE = re.compile(r"C[^P]{0,3}[tEkx]")
_PAST_FORM = re.compile(r"[tEkx]")
_HARMLESS_PAST = re.compile(
    r"\b(?:was|were|been|had|did)(?: (?:already|also|\w+ly))? (?:opened|unsealed|used|worn|broken|unpacked|delivered"
    r"|shipped|sent|bought|ordered|hoping|hoped|tested|installed)\b"
)
_PAST_WORDS = re.compile(
    r"\b(?:you paid (?:us|me|them)|back in (?:20\d\d|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)|used to"
    r"|last|already|ago|previously|past|back then|earlier|at (?:the|that) time|formerly|once(?= had| was| paid)"
    r"|yesterday|until (?:last|recently)|(?:we|i|they|he|she) (?:took|kept|charged|withheld|deducted)|had to"
    r"|years? before|in 20\d\d|(?:before|until|till) (?:20\d\d|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|then|now|recently)|used)\b"
)
_OTHERS = re.compile(
    r"\b(?:neighbou?rs?|customers?|buyers?|members?|clients?|people|persons?|managers?|boss|supervisor|some"
    r"|express|shipping"
    r"|postage|delivery (?:fee|charge)|late fee|shops?(?= (?:charges?|keeps?|takes?))|(?:some|other|many|most"
    r"|few) (?:shops?|stores?"
    r"|retailers?"
    r"|sellers?|customers?|people|buyers?)|somebody|someone|others|another|friends?|banks?|competitors?|most people"
    r"|customs|couriers?|postal|postage|brother|sister|mother|father|wife|husband|son|daughter|relatives?"
    r"|everyone else|elsewhere|everybody else|different (?:customer|order|shop|store|account|item)|furniture|seller"
    r"|marketplace|(?:bronze|standard|basic|silver|gold|platinum|regular|new|non-\w+|business) (?:customers|members"
    r"|tier|accounts)|his|her|their|they|he|she)\b"
)
_OF_SOMEBODY = re.compile(
    r"^(?:your|my|our|a|another|the) (?:neighbou?r|friend|brother|sister|mother|father|wife|husband|son|daughter"
    r"|colleague|other customer|previous owner)\b"
)
"""A sentence about somebody else, in all of its clauses."""
_ACCEPTS = re.compile(r"\b(?:i|we) (?:\w+ )?(?:accept|agree)\b")
"""The words of a reader who agrees: an agent who writes them states nothing."""
_DOUBT = re.compile(
    r"\b(?:might|may(?! (?:i|we)\b)|(?<!how )could(?! (?:i|we|you)\b)|possibly|perhaps|maybe|depend\w*"
    r"|whether(?! (?:you"
    r"|that|this|it) )|unless|normally|usually|typically|in general|generally|sometimes|otherwise|in (?:some"
    r"|certain|most)"
    r" cases|up to|between|at least|at most|about(?= AMOUNT| \d| eur)|around|roughly|approximately|or (?:so|more|less"
    r"|none)|would have(?! to)|had you|not sure|not know|no idea|example|e ?g|for instance|imagine|suppose"
    r"|assuming|pretend"
    r"|hypothetical\w*|in theory|keep (?:it|them|the [a-z-]+) (?:and|for|at)\b|estimate\w*|guess|probably"
    r"|likely|not yet|from case to case|would only|only (?:if"
    r"|when|for)|range\w*)\b"
)
_CONDITION = re.compile(
    r"\b(?:if|should|in case|provided|when|where|even if|were you to)\b (?!(?:you|i|we)(?: \w+){0,3} (?:return"
    r"|send|like|want"
    r"|wish|agree|accept|go|proceed|decide|still|okay|authori[sz]e|take|prefer|continue|choose|carry|book|keep|do"
    r"|approve|ship|arrange|consent|post|mail)\b"
    r"|(?:you are|that is|this is|it is|that|this|it) (?:\w+ )?(?:okay|fine|all right|acceptable|suits|works|happy"
    r"|willing|in agreement|comes back|goes back|arrives|gets here|reaches)\b|(?:i|we) (?:may|can|could|should)\b|so\b"
    r"|okay)"
)
_REPORTED = re.compile(
    r"\b(?:(?<!rules )(?<!policy )(?<!handbook )(?:says|thinks|believes|claims|reckons|said|thought|claimed)"
    r"|(?:you|he|she|they|colleague|bot|agent|supplier|somebody|someone|article|website|page) (?:\w+ )?(?:said"
    r"|say|says"
    r"|told|claim\w*|mention\w*|wrote|write|think|thought|believe\w*|heard|read|assume\w*|expect\w*|saw|see|ask\w*)"
    r"|according to (?:you|your)|your (?:mail|message|email|letter) (?:says|said|mentions)|asked whether|wonder\w*"
    r"|rumou?r\w*|not true|untrue|false|a lie|myth)\b"
)
_RETRACTS = re.compile(
    r"\b(?:correction|scratch that|scrap that|strike that|no wait|wait no|actually no|forget (?:that|it|what)|ignore"
    r"|disregard|just kidding|joking|kidding|a joke|only a test|a test|my mistake|in error|i misspoke|was wrong"
    r"|is wrong|not (?:true|correct|right)|does not count|never ?mind)\b|^(?:not|wait|no)$"
)
_CONSENT = re.compile(
    r"\b(?:accept\w*|agree\w*|okay|fine|willing|live with|bear|works?|suits?|acceptable|consent\w*|go ahead"
    r"|proceed|want"
    r"|like|wish|shall|may|can|should|happy|content|comfortable|all right|deal|approve\w*|prefer|still|rather|in order"
    r"|good|ready|prepared|mind|object\w*|interested|cool|yes|would|confirm)\b"
)
_OPEN_QUESTION = re.compile(r"^(?:and |but |so )?(?:why|who|whose|when|did|how (?:come|did|many|often|long))\b")
_OTHER_FATE = re.compile(
    r"AMOUNT (?:is|are|has|have|gets|will|would|can|could|belongs?|expires?|falls?|goes|refers?|concerns?|relates?)\b"
    r"(?: (?:be|been|being|now|still|also|then|only|just|therefore|normally|to|get|you)\b)*+"
    r"(?! (?:due|kept|deducted|charged|appl\w+|taken|withheld|payable|retained|subtracted|the same|okay|acceptable"
    r"|fine"
    r"|all right|something|held|part|required|necessary|standard|fair|unavoidable|for|on|our|in place|what|my|(?:a"
    r"|an|the) (?!mistake|error|misunderstanding|typo|joke|slip|thing|relic|matter|past)\w+"
    r"|come|stay\w*|stand\w*|remain\w*|added|included|docked|reasonable|off|how|laid)\b)(?= \w)"
)
"""Says of a fee with its amount something else than that it is due: "The fee of EUR 12 has expired"."""
_NOT_DUE = re.compile(
    r"\b(?:fee|deduction|surcharge|charge|restocking)\b(?: \w+){0,2} AMOUNT (?!is\b|are\b|will\b|would\b|has to\b"
    r"|have to\b|appl|for\b|on\b"
    r"|to\b|as\b|if\b|when\b|once\b|that\b|which\b|from\b|in\b|per\b|due\b|because\b|since\b|stay|remain|stand"
    r"|gets\b|must\b|at\b|then\b"
    r"|here\b|before\b|after\b|by\b|still\b|taken\b|deducted\b|kept\b|less\b|off\b|anyway\b|though\b|of\b|would\b"
    r"|or\b|so\b|can\b|could\b|has\b|something\b)\w"
    r"|\b(?:have|has|had) (?!calculated|worked|determined|checked|found|to\b|already opened)\w+(?:ed|uck|en|ne"
    r"|id)\b[^,;]{0,30}\bfee\b"
)
"""Says of a fee something that no rule knows, or that something was done to it."""
_UNREAL = re.compile(r"^(?:(?:and|so|but) )?(?:were|had) (?:it|the|there|you|we|this|that|your|i)\b")
"""A condition that is not so: "Were it opened"."""
_CHARGE_CONTEXT = re.compile(
    r"\b(?:fees?|restock\w*|return\w*|sending|send|open\w*|handling|seal\w*|unsealed|deduct\w*)\b"
)
_AMENDS = re.compile(
    r"^(?:and |so |but )?(?:it|that|this|which|in your case|for you\w*|your share|the amount|here|exactly)\b"
)
_NAMES_FEE = re.compile(
    r"\b(?:fees?|deductions?|surcharges?|charges?|restocking|handling costs?|return costs?|retention)\b"
)


@lru_cache(maxsize=2_048)
def speaks_of_fee(text: str) -> bool:
    """Whether a normalised text names a fee, or takes an amount from somebody's money."""
    return any(_speaks(codes, text) for codes in map(encode_clause, _SEGMENT.split(text)))


def names_fee(text: str) -> bool:
    """Whether a normalised text has a word for a fee."""
    return _NAMES_FEE.search(text) is not None


@lru_cache(maxsize=2_048)
def denies_fee(text: str) -> bool:
    """Whether a normalised text says that nothing is deducted or to be paid."""
    return any(_denies(segment, encode_clause(segment)) for segment in _SEGMENT.split(text))


@lru_cache(maxsize=2_048)
def states_fee(text: str, *, asks: bool = False) -> bool:
    """Whether a normalised clause states a fee with its amount."""
    return read_fee([Sentence(text=text, asks=asks)]) == "stated"


def read_fee(sentences: Sequence[Sentence]) -> FeeTalk:
    """What the sentences of one message say about a fee, together; a denial outweighs all else."""
    reader = _FeeReader()
    for sentence in sentences:
        if not sentence.signs:
            reader.read(sentence)
    return reader.talk


class _FeeReader:
    """One message on its way in, sentence by sentence."""

    def __init__(self) -> None:
        self.talk: FeeTalk = "unspoken"
        self._named = False

    def read(self, sentence: Sentence) -> None:
        """Add what a sentence says."""
        if self.talk == "denied":
            return
        text = sentence.text
        doubtful = bool(_DOUBT.search(text) or _CONDITION.search(text) or _UNREAL.match(text))
        if self.talk == "stated" and _RETRACTS.search(sentence.text):
            self.talk = "open"
        vague = doubtful or bool(_REPORTED.search(sentence.text) or _RETRACTS.search(sentence.text))
        vague = vague or (sentence.asks and not _CONSENT.search(sentence.text))
        vague = vague or bool(_OPEN_QUESTION.search(text) or _OF_SOMEBODY.search(text) or _ACCEPTS.search(text))
        for segment in _SEGMENT.split(sentence.text):
            self._read_segment(segment.strip(), doubtful=doubtful, vague=vague)

    def _read_segment(self, text: str, *, doubtful: bool, vague: bool) -> None:
        codes = encode_clause(text)
        speaks = _speaks(codes, text) or ("S" in codes and names_fee(text))
        past = _is_past(text, codes)
        denied_before = self._named and _DENIES_IT.search(codes)
        if denied_before or (_denies(text, codes) and (speaks or not past)):
            self._deny(doubtful=doubtful)
            return
        amends = self._named and _IS_AMOUNT.search(codes) and _AMENDS.search(text)
        if not (speaks or amends) or past or _OTHERS.search(text):
            return
        self._named = True
        shaped = amends or _has_fee_amount(codes, text)
        masked = AMOUNT.sub("AMOUNT", text)
        vague = vague or bool(_OTHER_FATE.search(masked) or _NOT_DUE.search(masked))
        negated = "N" in codes and "S" not in codes
        if shaped and not vague and not negated:
            self.talk = "stated"
        elif self.talk == "unspoken":
            self.talk = "open"

    def _deny(self, *, doubtful: bool) -> None:
        """Take note of a denial; one that is a case among several leaves open whether there is a fee."""
        self._named = True
        self.talk = "open" if doubtful and self.talk != "stated" else "denied"


def _speaks(codes: str, text: str) -> bool:
    """Whether a clause names a fee, or takes an amount from the reader."""
    return "F" in codes or ("A" in codes and _has_fee_amount(codes, text))


def _has_fee_amount(codes: str, text: str) -> bool:
    """Whether an amount in a clause is the fee's, not the price or the refund."""
    if _FEE_HAS_AMOUNT.search(codes) or _TAKES_AMOUNT.search(codes):
        return True
    return _CHARGES_AMOUNT.search(codes) is not None and _CHARGE_CONTEXT.search(text) is not None


def _denies(text: str, codes: str) -> bool:
    """Whether a clause denies a fee, and does not deny that the fee is waived."""
    if "S" in codes:
        return False
    return _DENIES.search(codes) is not None or _SHOP_PAYS.search(text) is not None


def _is_past(text: str, codes: str) -> bool:
    """Whether a clause tells of a fee that was, and not of one to come."""
    if "P" in codes:
        codes = encode_clause(_HARMLESS_PAST.sub("", text))
    if _PAST.search(codes) or _PAST_WORDS.search(_HARMLESS_PAST.sub("", text)):
        return True
    return _PAST_FORM.search(codes) is not None and _PASSIVE.search(codes) is None
