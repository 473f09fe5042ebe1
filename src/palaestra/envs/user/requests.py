"""The phrases by which an agent asks for something, or asks to check something."""

import re

from palaestra.envs.user.phrasing import Phrases

_PLEASE = (
    r"(?:please|kindly|(?:could|can|would|will|might|may) you(?: be (?:so kind|kind enough|able))?|would you mind|"
    r"(?:i|we)(?: would| must| have to| need to)? (?:ask|request|invite|urge|beg|want|need|like) you|"
    r"(?:i|we) would (?:like|need|be grateful for|appreciate) (?:you|it if you)|be so kind(?: as)?|are you able|"
    r"if you (?:could|would|can)|grateful if you (?:could|would)|(?:great|helpful|lovely|good|nice"
    r"|appreciated) if you (?:could|would|can)|"
    r"you (?:would )?(?:need|have|ought)|it would help(?: me| us)?(?: \w+)? if you(?: could)?|all you (?:need"
    r"|have)(?: to do)? is|"
    r"the next step is for you|may (?:i|we) (?:ask|request|trouble|invite|bother) you|(?:let us|let me) ask you|mind)"
)
_SOON = (
    r"(?:,? (?:please|kindly|also|just|then|quickly|briefly|maybe|perhaps|once more|again|first|to|now|therefore"
    r"|simply|both|each|for me))*"
)
_TELL = (
    r"(?:tell|telling|give|giving|provide|providing|share|sharing|name|naming|state|stating|describe|describing"
    r"|specify|specifying|"
    r"say|saying|explain|explaining|remind|reminding|supply|supplying|clarify|clarifying|reply|replying|respond"
    r"|responding|"
    r"answer|answering|indicate|indicating|mention|mentioning|point out|point me|quote|quoting|list|listing"
    r"|enter|add|include|"
    r"let (?:me|us) (?:know|have)|letting (?:me|us) (?:know|have)|write (?:me|us|back|down|out|to|in|again"
    r"|from)|writing (?:me|us|back|to|from|again)|"
    r"drop (?:me|us)|mail (?:me|us)|email (?:me|us)|emailing (?:me|us)|message (?:me|us)|text (?:me|us)"
    r"|contact (?:me|us)(?: from| again| using| with| via| through)|"
    r"contacting (?:me|us)|get in touch (?:from|using|via|with)|forward|furnish|hand over|pass (?:on|it|that"
    r"|this|them|the \w+|your \w+)|pass (?:me|us)|read (?:me|us|out)|spell|identify|pick|choose|select|look up|"
    r"dig out|attach|note down|advise|inform (?:me|us)|fill (?:me|us)|elaborate|expand|narrow"
    r"|send(?:ing)? (?:me|us|over|along|across|through|in)|"
    r"send(?:ing)? (?:the|your|a|that)(?! (?:\w+ ){1,3}back)|use|log in|sign in|resend|repeat"
    r"|come back to (?:me|us) with|get back to (?:me|us) with|"
    r"help (?:me|us) (?:understand|identify|find|locate|with)|walk (?:me|us) through|talk (?:me|us) through"
    r"|show (?:me|us)|count|guide me|present|submit)"
)
_NOT_TELL = (
    r"(?! (?:(?:it|this|that|them|the \w+|the \w+ \w+|your \w+) back(?! to (?:me|us) with)|(?:me |us )?(?:yes"
    r"|okay|agree)\b))"
)
CONFIRM = Phrases(
    r"(?:just |only )?(?:to|let me|let us|i (?:just |only )?(?:want|need|would like|wanted|have) to|may i|can i"
    r"|could i|must|we (?:just |only )?(?:want|need|"
    r"would like) to|i am) (?:just |quickly |briefly )?(?:confirm|verify|double[- ]?check|cross[- ]?check"
    r"|re-?check|make sure|be sure|be certain|be clear|be safe|"
    r"check|checking|be absolutely (?:sure|certain|clear)|be on the safe side|make certain|ensure|be quite sure"
    r"|repeat|recap|read back|"
    r"read (?:it|that|this) back)(?! (?:with (?:the|my|our|a)|on (?:this|that|it)|our|my|in (?:the|our)"
    r"|you have|a few))",
    r"^(?:just |only )?(?:confirming|checking|double[- ]?checking|verifying|making sure)",
    rf"{_PLEASE}{_SOON} (?:confirm|verify|double[- ]?check|cross[- ]?check|re-?check|check|validate|compare|"
    r"correct me|review|confirming|verifying|checking|double[- ]?checking|looking again|look again|re-?read"
    r"|re-?reading|go over|"
    r"(?:have|take|having|taking) (?:another|a second|one more|a closer|a fresh|a quick|a)?(?: \w+)? ?look"
    r"|look (?:it |that |this |at \S+ )?(?:up )?(?:again|once more|over)|"
    r"look at (?:the|your|it|that) (?:\w+ ){0,3}(?:again|once more)|make sure|ensure|see (?:if|whether)"
    r"|say (?:if|whether)|"
    r"tell (?:me|us) (?:if|whether)|let (?:me|us) know (?:if|whether)|reconfirm|approve)"
    r"(?! (?:you|that|it|this)? ?(?:would like|want|agree|prefer|suits?|works?|are (?:happy|okay|fine"
    r"|interested)|accept|is okay|may|should|can proceed))",
    r"^(?:confirm|verify|double[- ]?check|re-?check|check)(?! (?:our|in with))",
    r"(?:check|look|verify|read|count)(?: (?:it|that|this|them|the \w+(?: \w+)?|your \w+(?: \w+)?|for it|at it"
    r"|up|over))? (?:again|once more|one more time|twice|a second time)",
    r"double[- ]check (?:the|your|that|it|this|whether|which)",
    r"are you (?:quite |really |absolutely |completely |entirely |fully |100 ?%? |totally |still )?(?:sure"
    r"|certain|positive|confident)",
    r"(?:is|are|was|were) (?:that|this|it|those|they|these|both|all of (?:this|that|them)|my understanding|i|we"
    r"|everything|the above)"
    r"(?: \w+)? (?:really |indeed |still |all |also |definitely |actually |both )*(?:the )?(?:right|correct"
    r"|accurate|true|so|"
    r"complete|up to date|current|what you (?:mean|meant|want|wanted|said)|the case|the one"
    r"|the (?:\w+ )?(?:\w+ )?(?:you|that|we|it))",
    r"(?:^|, |: |and |so |but )(?:is|are|was|were) (?!(?:it|this|that) (?:okay|fine|all right|possible"
    r"|acceptable))[\w@' -]{2,60}? (?:really |indeed |still |also |definitely |actually |"
    r"certainly |perhaps |by any chance |maybe )*(?:the )?(?:right|correct|accurate|true|up to date|up-to-date"
    r"|valid|current|what you mean|"
    r"what you meant|the one|spelled|spelt|meant|what you want)",
    r"(?:^|, |: |and |so |but )(?:is|are|was|were) (?:the |your |this |that )?[\w@' -]{2,50}? (?:really|indeed"
    r"|still|definitely|actually"
    r"|certainly) ",
    r"(?:am i|are we) (?:right|correct|to understand|understanding|reading|getting|looking at|talking about"
    r"|speaking (?:of|about))",
    r"(?:did|do|have|has) (?:i|we) (?:get|got|understand|understood|read|hear|heard|have|take|note|noted|spell"
    r"|write|written|copy|copied|typed|taken|grasp|follow)",
    r"(?:do|did) you (?:really |perhaps |maybe |by any chance |possibly |actually |in fact |rather )*mean(?! by)",
    r"(?:have|did) you (?:\w+ )?(?:mixed|mistaken|swapped|mistyped|confused|mix|mistype|swap|misread|confuse"
    r"|type|typed|copied)",
    r"(?:could|can|might|may|would|is) (?:it|that|this|there|you)(?: \w+)?(?: (?:be|have been|have"
    r"|possible))?(?: that)?(?: (?:you|it|there|the|a|an|some|is|are|"
    r"have|has|might|may|number|maybe|been|possibly|perhaps|was|were|your))*(?: \w+)? (?:mixed|mistaken|typo"
    r"|typing error|swapped|mistyped|wrong|"
    r"misread|digits?|transposed|mix-up|misspelled|misspelt|slip|confused|confusing|different|another|other)",
    r"(?:is|was|could|might|may) there (?:be )?(?:perhaps |maybe |possibly |by any chance )?(?:a|an"
    r"|some) (?:\w+ )?(?:typo|mistake|mix-up|error in|slip|misprint)",
    r"(?:please )?correct me (?:if|where|should)",
    r"(?:i|we) (?:just |only )?(?:understand|take it|assume|gather|presume|suppose|believe|think"
    r"|guess)(?: (?:from|that|you|by))? .{0,60}\bis (?:this|that|it) (?:right|correct|so)",
    r"(?:tell|let|say|know)(?: (?:me|us))?(?: know)? (?:if|whether) (?:that|this|it|these|those|i|we|the \w+"
    r"|both|any of|my|anything|all)(?: \w+){0,4} "
    r"(?:is|are|am|have|got|was|were|matches|sounds|look|looks)(?: \w+)?(?: \w+)? (?:right|correct|accurate"
    r"|wrong|up to date|true|so)",
    r"(?:tell|let|say|know)(?: (?:me|us))?(?: know)? (?:if|whether) (?:i|we) (?:have|got|am|are|understood"
    r"|misunderstood|read|made)",
    r"(?:is|are) (?:right|correct|accurate|up to date) (?:or|,) ?(?:not|wrong)",
    r"might you (?:be|have)",
    r"just to (?:be|make) (?:sure|clear|safe|certain|double)",
    r"to avoid (?:any )?(?:mistakes?|misunderstandings?|confusion|errors?)",
    r"correct or (?:not|wrong)",
    r"(?:if|whether) (?:i|we) (?:understand|understood|read|follow|see) (?:you|it|this|that|things"
    r"|your \w+)?(?: \w+)? ?(?:correctly|right|properly)",
    r"(?:i|we) (?:have|need|want|would like) (?:you )?to (?:confirm|verify)(?! (?:with|internally|this internally))",
    r"(?:need|require|want|await|awaiting|like) (?:your |a |you to )?(?:confirm|confirmation)(?! (?:from (?:my"
    r"|our|the)|number|email|mail))",
    r"(?:sure|certain|positive) (?:about|of|that) (?:the|your|that|this|it)(?=.*\?)",
    r"any chance (?:that )?(?:you|it|there|the)(?: \w+)* (?:mixed|mistaken|typo|wrong|mistyped|another"
    r"|different|meant|mean)",
)
"""Asks to check what was said."""

TAG = re.compile(
    r"(?:[,;] ?|\b)(?:do|did|does|is|are|was|were|would|will|have|has|can) not (?:you|it|that|they|i|we|he|she"
    r"|there)$|"
    r"(?:[,;:]|^|\band|\bor) ?(?:is|was|are|were|does|do|did|has|have|had|will|would) (?:that|this|it|they|you|i"
    r"|we|there)(?: not)?"
    r"(?: (?:right|correct|so))?$|(?:[,;:]|^|\.)? ?(?:"
    r"(?<!all )(?<!all)right|correct|yes|or not|am i right|true|no|or|or am i wrong|or did i misunderstand"
    r"|or have i got that wrong|"
    r"(?:have|did) i (?:got|get|understood|understand) (?:that|it|this|you)(?: \w+)?|both (?:right|correct)|agreed)$"
)
"""Ends a statement so that it asks to check it."""

ASK = Phrases(
    rf"{_PLEASE}{_SOON} {_TELL}{_NOT_TELL}",
    r"(?:order|number|address|street|name|details?|description|photo|email|information|quantity|item|product"
    r"|code|city)s? (?:would|will|might) (?:really |also |greatly |already |certainly )?(?:help|be "
    r"(?:helpful|useful|great|good|enough|needed|nice|perfect|fine|handy|appreciated))",
    r"(?:great|good|helpful|useful|nice|handy|fine) to have (?:the|your)",
    r"let (?:me|us) (?:know|have) (?:which|what|where|when|who|how|whose|why|your|the|more|some|all|this|that"
    r"|if you (?:remember|know|have|can|recall|still have))",
    r"(?:i|we)(?: (?:still|just|only|also|will|would|first|really|do|shall|therefore|then|now|simply|am|are"
    r"|urgently|must|have to|merely|can not (?:\w+ )*until i))* "
    r"(?:need|require|needing|missing|lack|want|lacking|looking for|waiting for|awaiting|after|short of"
    r"|asking for|requesting|"
    r"(?<!once i )(?<!once we )(?<!when i )(?<!when we )(?<!as i )know)(?= (?:the|your|a|an|to know|to hear|to see"
    r"|to learn|to have|to be told|to understand|to find|"
    r"to ask|from you|some|more|one|two|which|what|where|when|how|further|additional|either|its|this|that|is"
    r"|for|whether|it|these|only|just|"
    r"at least|full|complete|exact|details?|information|you to (?!send it|keep|wait|be|return))|$)"
    r"(?! (?:to (?:decline|refuse|reject|inform|tell you)|your (?:patience|understanding|frustration|concern"
    r"|anger|disappointment|situation|position|point|approval)|"
    r"the (?:frustration|policy|rules?|approval)|a (?:moment|minute|few|little|bit of time|supervisor|manager"
    r"|colleague)|some (?:more )?(?:time|patience)|"
    r"more time|approval|this|that(?! (?:number|information|detail|from you))|it |how (?:annoying|frustrating"
    r"|upsetting|important|you feel|much this)))",
    r"(?:may|can|could|might) (?:i|we)(?: please| just| kindly| also| perhaps| quickly| then| first| therefore"
    r"| now)* (?:ask|have|get|know|see|trouble you for|request|learn|bother you for)"
    r"(?! (?:it (?:repaired|replaced|sent|exchanged|picked|cancelled)|you (?:to )?(?:accept|agree)|back to you"
    r"|someone))",
    r"(?:i|we) (?:would|should|will|must|might|could) (?:also |just |still |really |first )*(?:like|need|love"
    r"|want|have|be interested|be curious|be grateful|appreciate|be glad)"
    r" (?:to (?:know|hear|learn|see|understand|find out|ask|have (?:the|your))|the (?!chance|opportunity)"
    r"|your(?! (?:patience|understanding))|some (?:more )?(?:details?|information)|more"
    r"|a few (?:more )?(?:details|words)|"
    r"a (?:description|photo|picture|word|number|short)|for (?:the|your)|if you (?:told|could tell|sent|gave"
    r"|let)|to be told)",
    r"(?:i|we) (?:can|could|do|am|are|was|were)(?: \w+)? not (?:quite |yet |really |able to |sure |clear "
    r"|certain |fully |currently )*(?:see|find|tell|know|locate|sure|clear|certain|"
    r"make out|work out|identify|understand|tell from|figure out|say)?(?: about| on| from .{0,30})? ?(?:which"
    r"|what|where|when|who|how|whether|why)(?! (?:the \w+ is coming))",
    r"(?:what|all|the only thing|the one thing|one thing|everything|the thing|the last thing|first thing"
    r"|which)(?: that)? (?:i|we)(?: still| just| would| will| do| only| now| really)* (?:need|require|am missing|"
    r"are missing|lack|want|miss|have to know|must know|do not know|need to know|can not see|can not tell)",
    r"(?<!nothing )(?<!more )(?<!else )(?<!further )(?:is|are) (?:still )?(?:missing|required|needed|lacking"
    r"|unclear)(?! (?:from (?:the|your) (?:order|parcel|box|package|shipment|delivery))|for you to|of you|until)",
    r"(?:missing|lacking|needed|required|unclear)(?: (?:is|are|here|now|still|from you|for this|to me|to us"
    r"|for that|information|details?))+",
    r"do(?: you)?(?: still| perhaps| happen to| by any chance| maybe| also| possibly)* (?:have|know|remember"
    r"|recall|happen)(?! (?:any (?:other|further|more)? ?questions|time|mean))",
    r"(?:tell|telling) (?:me|us) (?:which|what|where|when|who|how|more|your|the|about|a (?:bit|little)|whether"
    r"|why|in)",
    r"(?:need|want|like|have|helps?|useful|(?:be|is) good|important|necessary|essential|helpful|curious"
    r"|interested|love|able|nice|keen|depends|interesting) (?:for (?:me|us) )?to (?:know|hear|learn|be told|see"
    r"|understand|"
    r"find out|ask you|have (?:the|your))(?! (?:that you|you|from you again|it|about your|of your"
    r"|your (?:frustration|disappointment)))",
    r"(?:wonder|wondering|ask|asking|curious|inquire|enquire|query|question is|question remains|depends on"
    r"|not say|not said|not mention|not mentioned|not stated|not tell me|not told|"
    r"not write|not written|forgot to (?:say|mention|tell|add|write|include|name)|unclear|not clear|open is"
    r"|the question|unsure|no idea|not sure|idea|told (?:me|us)|left out|remains|know) (?:me |us )?(?:about )?"
    r"(?:which|what|where|when|who|how|whose|why|whether)",
    r"(?:not|never) (?:say|said|mention|mentioned|state|stated|tell|told|give|given|include|included|name|named"
    r"|write|written|provide|provided)(?: (?:me|us))? (?:the|your|an?|any)"
    r"(?= \w)(?! (?:refund|money))",
    r"(?:message|mail|email|letter|request|note|you|ticket) (?:contains?|has|had|gave|give|names?|mentions?"
    r"|lacks|came with|includes?|left out|omits|did not (?:have|contain|name)) (?:no |out )?(?:the )?"
    r"(?=order|number|address|street|product|item|quantity|detail)(?<=no )",
    r"(?:clarify|specify|elaborate)(?! (?:this|that|it|things) (?:with|internally))",
    r"(?:any|some|more|further|additional|a few more) (?:details?|information|info"
    r"|specifics)(?: \w+){0,5}(?: (?:would|will|is|are|helps?|please|needed|you))",
    r"(?:by|with|from) (?:return|replying|answering|writing|sending|giving)(?: to)?(?: (?:this|us|me|with"
    r"|from))* (?:the|your|which|what)",
    r"please(?= (?:from|via|using|reply|respond|write)\b)",
    r"(?:write|contact|reach|get in touch|send (?:this|the|your) (?:request|message|mail|email)|reply"
    r"|request again|ask again|answer|respond)(?: (?:to|with))?(?: (?:me|us|this|it|again|once more|back|please))+,? "
    r"(?:from|using|via|through|with) (?:the|your|that|an)",
)
"""Asks for something, perhaps without a question mark."""

IMPERATIVE_ASK = re.compile(
    r"^(?:(?:please|kindly|so|then|first|and|now|just|for that|also|but)[,:]? )*"
    r"(?:tell|give|describe|specify|name|provide|share|state|explain|clarify|indicate|list|quote|reply with"
    r"|respond with|answer with|write (?:down|me|us|back)|"
    r"send (?:me|us|over)|let (?:me|us) (?:have|know (?:which|what|where|how|when|the|your))|enter|remind (?:me"
    r"|us)|drop (?:me|us)|help (?:me|us) (?:find|identify|understand))"
    r"(?! (?:(?:the|your|it|this|that)(?: \w+)? back|(?:me|us)? ?if you would|(?:me|us)? ?(?:a (?:moment|minute"
    r"|second|few)|time)|it (?:a|another)))\b"
)
"""Asks as an order does."""

QUESTION_WORD = re.compile(
    r"(?:^|: |[,;] (?:and |so |but |or |then )?|\b(?:and|so|but|or) )"
    r"(?:(?:okay|so|and|also|well|but|sorry|thanks|thank you|understood|great|sure|of course|first|firstly"
    r"|secondly|now|then|hm+|right|"
    r"before that|just|for that|one question|quick question|question|just out of interest|exactly|again|please"
    r"|about your \w+|tell me|regarding \w+|"
    r"one (?:more|last) thing|actually|finally|lastly|next|in that case)[,: ]+){0,3}"
    r"(?:which|what(?! (?:we|i) (?:can|could)| a (?:pity|shame|nuisance|pain|mess))|where|when(?! (?:it|you|we"
    r"|the|they|your|i|this|that)\b)|who|whose|why|"
    r"how (?:many|much|long|did|do|does|can (?:you|i|we)|may i|could (?:i|we)|could you|is|are|was|exactly"
    r"|often|old|big|would you|should we|should i|shall|"
    r"come|far|else|bad|badly)|"
    r"(?<!, )(?:at|to|on|in|for|of|from|by|with|under|about|through) (?:which|what(?! you (?:write|wrote|say|said"
    r"|describe|tell|told))|whom|whose|how many))\b"
)
"""Begins as a question does, after a greeting or the like."""

STATES = re.compile(
    r"\b(?:which|what|where|when|who|how) (?:is why|means|meant|would be|will be|is a|is an|leaves|makes"
    r"|can not|was|is because|is the reason|has|have|i can not|"
    r"we can not|covers|includes|happened is|happens is|you (?:will )?get back)\b"
)
"""Begins as a question does, and is none unless a question mark ends it."""

ASKS_FRAGMENT = re.compile(r"(?:^|, )(?!nothing|no )(?:[\w' +-]+),? (?:please|needed|required|missing|plz)$")
"""Names a thing and says please: "Order number, please"."""

BOTH = re.compile(r"\b(?:both|all (?:this|that|of|correct|right)|all three|these|those|are they|everything)\b")
"""Speaks of all that was named before."""

YES_NO = re.compile(
    r"^(?:(?:and|so|but|or|okay|also|now|then|sorry|just|well|again|if so|if not)[,:]? )*"
    r"(is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|may|might|shall)(?: not)? (\w+)"
)
"""Begins as a question does that is answered with yes or no."""
