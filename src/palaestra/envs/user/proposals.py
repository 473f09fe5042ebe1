"""The phrases by which an agent offers something."""

from palaestra.envs.user.phrasing import Phrases

_DO = (
    r"(?:offer|replace|repair|give|send|credit|propose|arrange|exchange|refund|cancel|return|book|set|open"
    r"|start|issue|process|proceed|go ahead|go on|"
    r"continue|carry on|take (?:it|the|this|that|your|off|back|care)|ship|redirect|change|swap|fix|mend"
    r"|reimburse|pay|transfer|authori[sz]e|order|stop|waive|register|"
    r"organi[sz]e|have (?:it|this|that|one|them)(?= \w)|get (?:it|you|one)|let you|put|make|initiate|create"
    r"|prepare|raise|file|place|deliver|dispatch|"
    r"schedule|forward|route|reroute|update|correct|move|deduct|keep|charge|do (?:that|this|it|so)"
    r"|help you (?:by|with)|do (?:a|an)|try|collect|pick|apply|generate|"
    r"call (?:it )?off|reverse|handle|void|post|mail|accept|add|begin|submit|take|halt|look into|look for"
    r"|settle|wait|hold|split|do what|expedite|push|upgrade|compensate)"
)
_WILLING = (
    r"(?:okay|fine|happy|all right|good|acceptable|comfortable|content|agreeable|agreed|satisfied|cool|alright"
    r"|interested|willing|prepared|suitable|"
    r"in agreement|on board|convenient|possible|ready|enough|any help|any use|helpful|of interest|an option"
    r"|a solution|an alternative|in order|in your interest|open|in favou?r)"
)
_WISH = (
    r"(?:like|liked|want|wanted|wish|wished|prefer|preferred|agree|agreed|accept|accepted|consent|approve"
    r"|are interested|are (?:okay|happy|fine|willing|comfortable|content|agreeable)|would like|would rather|"
    r"would prefer|would accept|would want|choose|decide|say (?:so|yes)|care|fancy|are open|do not mind"
    r"|would be (?:okay|happy|fine|willing|interested)|opt|are in favou?r|give (?:me|us) (?:the|your) (?:go"
    r"|okay|word|consent|approval))"
)
OFFER_QUESTION = Phrases(
    r"would you(?: still| then| perhaps| rather| maybe| also| instead| really| now| just| please)* (?:like"
    r"|prefer|accept|be (?:\w+ )?" + _WILLING + r"|want|consider|take|agree|"
    r"care|choose|go for|settle|opt|mind (?:if|a|an)|wish|fancy|rather|welcome|say (?:yes|no) to|have us"
    r"|have me|object|keep)"
    r"(?! (?:to )?(?:tell|giving|sending|telling|checking|verifying|confirming|share))",
    r"(?:do|did|will|might|may|could|can) you(?: still| then| perhaps| rather| maybe| also| instead"
    r"| now)* (?:want|wish|agree|accept|consent|prefer|fancy|need us|care for|approve|take|mind (?:if|a|an)|"
    r"like (?:to|me|us|a|an)|be " + _WILLING + r"|consider|object|settle for|live with|opt|choose|go for)",
    r"(?:shall|should|may|can|could|might|do|must) (?:i|we)(?: please| then| just| now| perhaps| instead| still"
    r"| therefore| also| simply| maybe)* " + _DO,
    r"(?:are|is|would|will|were)(?: (?:you|that|this|it|the|a|an|one|either|these|those|everything"
    r"|all))(?: [\w%'-]+){0,6}? (?:be |then |still |also )*"
    + _WILLING
    + r"(?: (?:with|to|for|if|in|about|by|as|enough|you|instead)|$)",
    r"would (?:that|this|it|a|an|the|some|one|either|having|getting|sending|free|you|our"
    r"|these)(?: [\w'-]+){0,6}? (?:work|do|suit|help|be " + _WILLING + r"|interest|appeal|be of|make|solve"
    r"|settle|satisfy|be something)",
    r"(?:does|do|will|can) (?:that|this|it|a|an|the|either)(?: [\w'-]+){0,5}? (?:work|suit|help|sound|appeal"
    r"|interest|do) ?(?:for you|you|with you|okay|good|fine|all right|like|acceptable|fair|reasonable|better|to you)?"
    r"(?= |$)(?! (?:when|at all|properly|not|if|before))",
    r"is (?:that|this|it) (?:a deal|something you|what you would like|okay|fine|all right|acceptable|alright"
    r"|in order|agreed|fair|good|agreeable|good enough|enough|something for you|an option)",
    r"(?:how|what) about (?:a|an|we|if|having|getting|sending|returning|repairing|replacing|cancelling|you|free"
    r"|our|the (?:repair|replacement|exchange|refund)|i|us|money|store|in)",
    r"what (?:do you think|would you say|do you say|if (?:i|we))",
    r"why (?:do not|not) (?:we|i|let|have|get|send|return)",
    r"(?:any )?interest(?:ed)? in (?:a|an|having|getting|that|this|the|returning|sending|our|receiving|one|some)",
    r"(?:okay|fine|all right|good|happy|deal|agreed|acceptable|cool|alright)(?:,? (?:with|for|by) you"
    r"| to (?:go ahead|proceed|continue|go on|do|you)| if (?:i|we)| for (?:me|us) to| with (?:that|this|it))",
    r"^(?:and |so |is (?:that|this|it) |all |then |still )*(?:okay|fine|deal|interested|agreed?|acceptable|good"
    r"|sound good|sounds good|alright|all right|does that work|works for you)(?: (?:then|so|with you|for you"
    r"|like that|that way))?$",
    r"(?:is|are) there (?:any )?interest",
    r"(?:something|anything|one|an option|a solution) (?:that )?you (?:would|could|might|can) (?:like|consider"
    r"|accept|want|take|live|imagine|go)",
    r"^(?:shall|should|may) (?:i|we)(?: then)?$",
    r"would (?:suit|help|work for|do for|be (?:better|okay|fine|good) for) you",
    r"^(?:yes or no|agreed|is that fair|fair enough)$",
    r"^(?:can|could|may|might|shall|should) (?:i|we) tempt",
    r"(?:have|do i have|do we have|give (?:me|us)|can (?:i|we) have|may (?:i|we) have|with|need"
    r"|get) your (?:agreement|consent|okay|approval|permission|go-ahead|go ahead|blessing)",
    r"(?<!before i )(?<!before we )(?<!can )(?<!will )(?<!i )(?<!we )(?<!to )(?:go ahead|proceed|continue"
    r"|carry on|go on)(?: with (?:it|this|that|the \w+))?(?: (?:on that basis|on these terms|then|anyway"
    r"|as described|like that|now|nonetheless|under these conditions))?$",
    r"^(?:fancy|ready for|care for|prefer|rather|interested|want|like) (?:a|an|to|in|the|your)",
    r"^(?:a |an |the |maybe a |perhaps a |or a |or rather a )?[\w-]+(?: or (?:a |an |the |rather a )?[\w-]+"
    r"| perhaps| maybe| instead| then)$",
)
"""Offers something in a question, or asks for agreement."""

OFFER_STATEMENT = Phrases(
    r"(?:if|should|whenever|as soon as|once|when|provided(?: that)?|in case|so long as|as long as"
    r"|assuming) (?:that(?: is| would be)? |this is |it is |a \w+ is )?(?:you(?: would| still| do| happen to"
    r"| are)* "
    + _WISH
    + r"|"
    + _WILLING
    + r"(?: with you| for you| to you)?|(?:that |this |it )?(?:suits|helps|works(?! (?:again"
    r"|fine now|properly))|sounds|would help|would suit|appeals|would work|is of))"
    r"(?! (?:further|more|additional|to (?:know|ask|tell|contact|write|reach|talk)|anything|any|information"
    r"|help|us to know))",
    r"(?:tell|let|say|reply|write|answer|drop|give|word|know|just|shout|signal|yes)(?: (?:to )?(?:me"
    r"|us))?(?: know| a (?:note|line|word|quick \w+|shout))? (?:if|whether|should|that|in case)(?: (?:you"
    r"|that|this|it|a|an|the|one|either|i|we|to))+"
    r"(?: still| do| \w+)? ?" + rf"(?:{_WISH}|works|suits|is okay|is fine|helps|would (?:help|work|suit|be)|may"
    r"|should|can|could|go|proceed|shall|acceptable|are okay|{_WILLING})",
    r"(?:i|we)(?: would| could| can| might| will| shall)?(?: also| gladly| happily| certainly| therefore"
    r"| instead| rather| then| strongly| like to| want to| can only)* (?:suggest|propose|recommend|offer"
    r"|advise)(?: (?:you|to|a|an|that|the|it|we|having|"
    r"sending|repairing|replacing|either|one|our|instead|free|returning|this|getting|us|him|on)|$)",
    r"let (?:me|us) (?:offer|suggest|propose|replace|repair|refund|send you|make you)",
    r"(?:i am |we are |is )?offering (?:you )?(?:a|an|the|to|free|either|one|our|instead)",
    r"(?:what|all|the best|the most|the only thing|the least|one thing|something)(?: (?:that )?(?:i|we)) (?:can"
    r"|could|would|may|might|will)(?: still| instead| also| gladly| always)* (?:do|offer|suggest|propose|give"
    r"|arrange)(?: (?:for )?(?:you|instead|here|about|now|at most))* "
    r"(?:is|would be|:|are)",
    r"(?:my|our) (?:offer|suggestion|proposal|advice|recommendation)(?: (?:to you|would be|is|now|then|instead"
    r"|therefore|for you|:))+",
    r"(?:an?|another|one|your|the (?:best|other|only|next|better)) (?:\w+ )?(?:alternative|option|possibility"
    r"|solution|way out|choice|way forward)(?: (?:\w+ ){0,3}?(?:is|would be|could be|might be))",
    r"(?:alternatively|as an alternative|in its place|by way of (?:compensation|alternative)|as a (?:gesture"
    r"|goodwill|compensation|solution))",
    r"you (?:can|could|may|might|have the choice|have the option|are free)(?: also| then| instead| either| now"
    r"| still| always| simply)* (?:choose|have (?:a|an|it|the|one|either)|opt|pick|decide|select|get (?:a|an"
    r"|the|your|it|one)|"
    r"swap|exchange|take (?:a|an|the|one)|between|of|to (?:choose|pick|have))",
    r"(?:up|open|available) to you|your (?:choice|call|decision|pick)|at your (?:choice|disposal)|the choice is yours",
    r"(?:just )?(?:say|give) (?:me |us )?(?:the|a|your) (?:word|nod|go-ahead|go ahead|okay|green light|quick yes)",
    r"unless you (?:object|would (?:rather|prefer)|want|prefer|do not)",
    r"(?:is|are|would be) (?:also |still |certainly |always )?(?:possible|available|on offer|an option|open"
    r"|feasible|on the table|conceivable)(?: (?:to you|for you|instead|if|should|with us))",
    r"(?:need|require|await|awaiting|waiting for|wait for|subject to|depends on|want|await) (?:your "
    r"|you to )(?:agreement|consent|okay|approval|permission|go-ahead|go ahead|agree|approve|accept|decision)",
    r"(?:please )?(?:let|tell) (?:me|us)(?: know)? (?:your (?:decision|preference|choice|thoughts|answer|wish)"
    r"|what you (?:think|prefer|decide|would prefer|would like|want|choose)|how you (?:decide|would like)"
    r"|which (?:you|of (?:these|the two|them|both)|one you|option) ?(?:would )?(?:you )?(?:prefer|like|choose"
    r"|want|suits?))",
    r"instead,? (?:i|we) (?:can|could|would)",
    r"^(?:my|our|one|another|a possible|the best|an?) (?:offer|suggestion|proposal|idea|advice|option|alternative"
    r"|thought|compromise)$",
    r"would (?:a|an|the) [\w -]{3,30} (?:work|do|suit|help)",
    r"(?:you are|you would be|you will be) (?:very |most )?(?:welcome|free|invited|entitled"
    r"|allowed) to (?!(?:write|contact|ask|reach|call|get|reply|come|a |an |drop|email|message))",
    r"(?:if|should) (?:that|this|it) (?:is|be|would be|were) " + _WILLING,
)
"""Offers something in a statement, and leaves it to the reader."""

OFFER_LEAD = Phrases(
    r"(?<!what )(?<!than )(?<!which )(?<!because )(?<!since )(?:i|we)(?: would| could| can| might| am| are"
    r"| will be| may)+(?: also| gladly| happily| certainly"
    r"| therefore| instead| rather| then| either| still| always| perhaps| of course| easily| however| very"
    r"| more than| be| only| even| simply| "
    r"now| just| though| immediately| in that case| as an exception)*"
    r"(?: (?:happy|glad|pleased|able|willing|prepared|like|love|delighted|ready|in a position) to)?(?: also"
    r"| instead)* " + _DO,
    r"^(?:(?:so|then|but|and|or|instead|otherwise)[,:]? )*(?:happy|glad|pleased|more than happy|willing) to " + _DO,
)
"""Says what the agent could do: an offer where nothing else is asked for."""
