"""The phrases by which an agent says no."""

from palaestra.envs.user.phrasing import Phrases

_NOT_DONE = (
    r"(?:see|find|tell|locate|know|sure|certain|help but|clear|only|have(?! (?:it|that|this|them|the \w+) \w+(?:ed"
    r"|t|n))|worry|yet|understand|recogni[sz]e"
    r"|verify you|identify|reach|match|mind|charge|want to|want you|need|hesitate|blame|doubt|expect|be charged|"
    r"cost|lose|pay|be asked|be billed|deduct|withhold|keep (?:any|a|the fee|back)|mean|think|wish|like"
    r"|work out|make out|say (?:which|what|when|where|how|whether|for sure)|trace|read|open the (?:attachment"
    r"|file|link|photo|picture)|see(?:n)?|spot|determine|look|"
    r"apologi|thank|imagine|stress|wait|believe|recall|remember|at fault|happy|pleased|proud|satisfied|quite"
    r"|entirely|fully|really (?:sure|clear|know)|forget|hear|receive|get (?:a|any|your)|notice|figure|guess"
    r"|confirm (?:which|what|who|your identity|that it is you|that you are)|"
    r"take (?:any|a) (?:fee|deduction)|seem|going to charge|subtract|in(?:side)? (?:my|our) system|let (?:this"
    r"|you|that) (?:happen|down|go|wait)|asked|been (?:told|given|asked|informed)|told|given (?:the|your|an|me"
    r"|us)|be (?:able to (?:find|see|tell|locate)|long|found|seen|any))"
)
_OPTION = (
    r"(?:possible|available|eligible|entitled|allowed|permitted|covered|included|refundable|returnable"
    r"|cancell?able|exchangeable|changeable|accepted|granted|an option|a possibility|"
    r"something (?:that )?(?:i|we)|up to (?:me|us)|in my power|negotiable|valid|open to|in a position"
    r"|able(?! to (?:find|see|locate|tell|trace|match|identify|reach|open|make out|verify))|authori[sz]ed"
    r"|repairable|replaceable|qualified|an exception|feasible|doable|within|offered|provided|supported|"
    r"going to (?:happen|be possible|work|refund|replace|cancel|accept|take|change|repair|waive|be able|make)"
    r"|up for (?:discussion|debate|negotiation)|foreseen|on the cards|applicable|on the table|in scope"
    r"|under warranty|reversible|transferable|approved|justified|due"
    r"|owed|to be (?:had|returned|refunded)|ours to|for (?:me|us) to)"
)
REFUSE = Phrases(
    rf"(?:i|we|you|our \w+|the (?:company|policy|shop|store|team|rules?|system|warranty|workshop)|they|nobody"
    rf"|anyone|that|this|it|which|one) (?:can|could|will|would|may|am|are|do|does|is|shall)"
    rf"(?: therefore| sadly| unfortunately| simply| really| just| also| regrettably| however| then| of course"
    rf"| certainly| alas| currently| now)* "
    rf"not(?: simply| just| therefore| unfortunately| currently| now| at present| in this case| here| also"
    rf"| any longer| ever)*(?! (?:{_NOT_DONE}))"
    rf"(?! (?:turn|start|switch|boot|charge|power|connect|a fee|a problem|your fault|anybody|any fee|any charge"
    rf"|be (?:a|any) (?:fee|deduction|charge|problem)|necessary|needed|required|far|long|too|much|what|how"
    rf"|the (?:right|standard|service|experience|one|same)|good|right|correct|"
    rf"acceptable that|okay that|match|belong|exist|correspond|show|appear|contain|ring|sound|seem|arrive|fit"
    rf"|hot|warm|broken|shipped|sent|delivered|dispatched|due to you|on (?:file|record)|registered|listed"
    rf"|in (?:our|the|my)|fair|our (?:standard|usual)|happen again))"
    rf"(?= \w|$)",
    r"(?:can|could|may|will|must|shall) (?:unfortunately |sadly |therefore |also |simply |regrettably )?(?:not"
    r"|never|no longer|neither)(?: unfortunately| simply| any longer| now)* (?:be|come|go|qualify|do|make|take"
    r"|accept|offer|give|grant|waive|change|cancel|refund|return|replace|"
    r"repair|help|proceed|approve|disclose|share|discuss|reveal|provide|release|allow|stop|alter|amend|reroute"
    r"|redirect|recall|process|fulfil|comply|agree)"
    r"(?! (?:found|seen|located|charged|deducted|withheld|traced|billed|asked|verified|matched|a (?:fee"
    r"|deduction)|any (?:fee|deduction)|identified|read|opened|kept from|without (?:the|your|a|an)"
    r"|further (?:here )?(?:without|until)))",
    r"(?:will|would) not (?:change|be changed|be possible|be able|move|budge)",
    r"say(?:ing)? no",
    r"^(?:\w+ )?(?:nobody|no one|none of|neither|no \w+|nothing)\b(?: \w+){0,6}? (?:can|could|may|allows?"
    r"|authority|permits?|possible|able"
    r"|allowed|lets?|authori[sz]ed|power|in a position|left for (?:me|us) to|to be done|be done)(?! (?:find|see"
    r"|tell|be found|be seen))",
    r"nothing (?:is |was )?left(?: for (?:me|us))? to (?!do for you)|(?<!if )there is nothing (?:left(?! for you)"
    r"|more|else|further|we|i|to be)",
    r"(?:so|hence|therefore|thus|means|meaning|which means|mean) no (?:\w+ )?(?:refunds?|returns?|exceptions?"
    r"|replacements?|repairs?"
    r"|cancell?ations?|exchanges?|change|money back|rerouting|swap|fix)",
    r"(?:has|have|had|needs|need|ought) to (?:stay|remain|stand)\b|must (?:stay|remain|stand)\b",
    r"(?:is|are|was) not (?:on the cards|offered|in the cards|part of|provided for|meant to be|intended)",
    r"(?:answer|decision|reply|verdict|response|position)(?: (?:to this|to that|here|must|has to|will|can only"
    r"|on this|from us|remains|stays|stands|is|be|therefore|unfortunately|sadly|still))+ (?:no\b|negative"
    r"|unchanged|the same|final|firm|as it is|not)",
    r"(?:that|this|it)(?: \w+)? (?:is|has to be|must be|will be|stays|remains) (?:a |still a |an? \w+ )?no(?:$"
    r"| (?:from|for|on|i am|in))",
    r"^(?:sorry,? )?(?:no,|no (?:can do|chance|way|dice|luck|go)|nope|not (?:possible|this time|today|a chance"
    r"|available|covered|refundable|eligible))",
    rf"(?:is|are|was|am|be|were|been|seems?)(?: (?:also|unfortunately|sadly|therefore|simply|just|really"
    rf"|however|thus|regrettably|currently|now|any longer))* not(?: (?:also|unfortunately|currently|now"
    rf"|any longer|really|simply|generally|something that is|even))* {_OPTION}",
    r"not (?:something (?:that )?(?:i|we) (?:can|could|do|are)|a thing (?:i|we)|an option|one (?:i|we) can"
    r"|eligible|entitled|possible|permitted|in a position|within (?:my|our)|anything (?:i|we) can|for (?:me"
    r"|us) to (?:decide|change))",
    r"(?:i|we)(?: (?:am|are|was|were|feel|find (?:myself|ourselves)|will be))?(?: unfortunately| sadly"
    r"| therefore| simply| afraid| regrettably| currently| also)* (?:unable|not able|not allowed|not permitted"
    r"|not authori[sz]ed|prevented|powerless|forbidden|prohibited|bound by|obliged to (?:decline|refuse|reject))"
    r"(?! to (?:find|see|locate|tell|identify|verify you|trace|match|confirm which|reach))",
    r"(?:unable|not able|not in a position|not at liberty|impossible for (?:me|us)|beyond (?:my|our)"
    r"|outside (?:my|our))(?: to)? (?!to\b|find|see|locate|tell|identify|trace|match)",
    r"(?:must|have to|need to|had to|will|would|going to|forced to|obliged to|can only|could only|afraid i"
    r"|hereby|am|are|ought to|regret to|do|to|having to|therefore|i|we) (?:unfortunately |respectfully |sadly "
    r"|have to |therefore |regretfully |politely |hereby )?"
    r"(?:decline|declining|refuse|refusing|reject|rejecting|deny|turn (?:\w+ ){0,3}down"
    r"|turning (?:\w+ ){0,3}down|disappoint|rule (?:\w+ ){0,3}out|disallow|withhold (?:the|your) (?:refund|consent))",
    r"(?:is|was|be|been|being|are|were|get|gets) (?:therefore |unfortunately |hereby |also |sadly )?(?:declined"
    r"|refused|rejected|denied|ruled out|excluded|disallowed|turned down|barred|prohibited|forbidden|precluded"
    r"|exempt from (?:return|refund|cancel)\w*|off the table|out of the question|beyond repair)",
    r"off the table|out of the question|off limits|a non-starter|not on the table|out of (?:my|our) hands"
    r"|beyond (?:my|our) (?:control|powers?|remit|authority)|above my (?:pay|authority)",
    r"(?:(?<!exchange )(?<!swap )(?<!exchanged )against|outside(?: of)?|not covered by|excluded (?:by|under|from)"
    r"|does not (?:allow|permit|cover|let"
    r"|include|extend|provide)|do not (?:allow|permit|cover|let|include)|goes against|violates?|breach"
    r"|contrary to|exceeds?|forbids?|prohibits?|prevents?|rules? out|excludes?|falls? outside|bars?|stops? (?:me|us))"
    r" (?:our |the |company |us |me |of |any |a |your |such |this |that |from |it |returns|refunds|to |warranty"
    r"|policy)",
    r"(?:there (?:is|are|will be|can be)|we (?:have|give|make|offer|accept|take|do|grant|allow|see)|i (?:have"
    r"|see)|with|it is|sorry,?|unfortunately,?|^|sadly,?|is|you have) no (?:\w+ )?(?:refunds?|returns?"
    r"|exceptions?|waivers?|replacements?|repairs?|cancell?ations?|exchanges?|way|possibility|option|"
    r"right (?:to|of)|means|room|grounds?|scope|chance|basis|entitlement|claim|flexibility|discretion"
    r"|alternative|leeway|money back|reimbursement|choice but)(?! (?:to (?:tell|know|see|find)|i can (?:tell"
    r"|see|know)|of (?:telling|knowing)|(?:fee|charge|cost|deduction)))",
    r"^no (?:\w+ )?(?:refunds?|returns?|exceptions?|waivers?|replacements?|repairs?|cancell?ations?|exchanges?)",
    r"neither (?:\w+ ){0,6}nor",
    r"(?:no|never) (?:longer|more)(?: be)? (?:possible|returnable|eligible|refundable|available|returned"
    r"|refunded|cancelled|canceled|changed|an option|offered?|repaired|replaced|exchanged|accepted|covered"
    r"|entitled|stopped|altered|amended|accept|change|cancel|take|under|take|redirected|"
    r"valid|able|in (?:time|stock)|feasible|open|provide|do|undone|reversed|qualif\w+|refund|return|within|made"
    r"|granted)",
    r"(?:can|may|could|will|is|are|do|am|was|does|has) no longer(?! (?:on hold|locked|blocked|a problem))",
    r"(?:too late|out of time|too long ago|past the point|beyond the point|missed the (?=(?:\w+ )?(?:window"
    r"|deadline|date|cut|period|limit))) ?(?:to|for|now|in|where"
    r"|window|deadline)?",
    r"nothing (?:more |else |further |that )?(?:that )?(?:i|we|anybody|anyone) (?:can|could"
    r"|are able)(?: to)? (?:do|offer|change)|nothing (?:more )?to be done|nothing doing",
    r"(?:is|are|be|find it|it|proves?|makes?|find|was) (?:\w+ )?(?:impossible|ruled|unavailable|ineligible"
    r"|non-?refundable|non-?returnable|unfeasible|final sale|irreversible|unrepairable|void)",
    r"(?:makes?|made|making) (?:it |a |the |your |this )?(?:\w+ )?impossible",
    r"(?:stands|remains|stays|stay|stick|sticking) (?:firm|final|by (?:our|the|that|my)|to (?:our|the|that|my))",
    r"final (?:decision|answer|word)|last word",
    r"leaves? (?:me|us|you) (?:with )?no (?:room|choice|option|alternative)",
    r"(?:fee|rule|decision|policy|answer) stands|would (?:only )?have been possible",
    r"no way (?:around|to|of|for|that i|that we|we can|i can|past)",
    r"hands are tied|hands tied",
    r"(?:i|we) (?:(?:have to|must|will) )?(?:leave it at that|insist|stand by|keep to|stick to|say no)",
    r"only the (?:account )?(?:owner|holder|account|person|registered)",
    r"(?:i|we) (?:can|may|must) only (?:talk|speak|discuss|share|disclose|deal|give|act|release|communicate|help)",
    r"(?:i|we) only (?:\w+ ){1,4}(?:with|to) the (?:account )?(?:owner|holder|registered)",
    r"beyond (?:what|anything)",
    r"(?:has to|must|will) (?:stay|remain)$",
    r"you (?:will|would|can|do|are|shall) not (?:\w+ )?(?:receive|get|getting|have|be (?:given|refunded"
    r"|reimbursed|offered)|qualify)",
    r"(?:destination|address|decision|fee|route|delivery) is (?:\w+ )?fixed|no longer (?:works?|work)",
    r"(?:will|would|can|could|to) (?:not )?(?:be )?(?:get|getting|receive|receiving|have) (?:none|no (?:refund"
    r"|money|replacement|repair|return))",
    r"(?:not|no|never) (?:qualify|qualifies|entitle|meet the|fulfil|make exceptions|an exception)",
    r"(?:is|are) (?:only|just|solely|exclusively) (?:possible|available|allowed|granted|accepted|for|covered"
    r"|offered) (?:within|before|until|for|in|if|while|when|to)(?=.{3,80}(?:passed|over|expired|gone|late"
    r"|closed|already|ended|but))",
    r"(?:refrain|abstain) from|declined|refused|rejected",
    r"(?:wish|would like|like|love|want) (?:\w+ )?(?:i|we)? ?(?:could|to)(?: \w+){0,5},? but",
    r"(?:stays|remains|will stay|has to stay|must stay|is here to stay)(?: (?:in place|due|payable|where it is"
    r"|in force|applicable))",
    r"(?:i|we)(?: \w+)? (?:have|see|got) no (?:way|means|possibility|option|room|authority|power|choice|right"
    r"|permission|mandate)",
    r"(?:unfortunately|sadly|regrettably|afraid|alas)(?:,| that| i"
    r"| we)*(?: \w+){0,4} not(?! (?:" + _NOT_DONE + r"|\w+ yet|yet|in stock))",
    r"(?:would|will|can|could|do) (?:only |just )?(?:be |have to )?(?:reserved|limited|restricted) (?:to|for)",
    r"not (?:take|takes|taking|accept|accepts|accepting|offer|offers|offering|refund|refunding|repair|replace"
    r"|exchange|waive|grant|issue|disclose|share|discuss|allow|permit|ship)(?:ing)? (?:\w+ ){0,3}?(?:back"
    r"|returns?|refunds?|exceptions?|repairs?|replacements?|details|information|data)",
    r"(?:said|say|says) no(?! (?:more|such|fee))\b|(?:answer|reply|verdict) (?:is|was|remains|stays|will be)"
    r" (?:still |a )?(?:no|negative)\b|(?:stays|remains) (?:a )?no",
    r"(?:that|this|it) is beyond (?:me|us)|not within (?:my|our) power|no (?:say|authority|power"
    r"|influence) (?:over|to)",
    r"(?:policy|rules?|system|workshop|manufacturer|carrier|courier|warranty|supplier|law) (?:refuses?|blocks?|forbids?"
    r"|prohibits?|rejects?|prevents?|stops?)",
)
"""Says no."""

WEAK_REFUSE = Phrases(
    r"(?:window|period|warranty|deadline|cover|coverage|guarantee|time limit|time|term|days|weeks"
    r"|months)(?: \S+){0,4}? (?:has |is |had |have |are |was |were )?(?:already |now |long )?(?:closed|expired"
    r"|passed|over|ended|lapsed|elapsed|run out|up|gone|ran out|behind us|shut)",
    r"(?:past|outside|beyond|after) (?:the|our|your|its) (?:\w+ )?(?:window|period|warranty|deadline|limit|cut-?off)",
    r"(?:has|have|had|is|was) (?:already |just )?(?:left|been shipped|shipped|gone out|on its way|handed over"
    r"|been dispatched)(?=.*\b(?:so|which|too|therefore)\b)",
    r"(?:has|have) no warranty|(?:is|are) not (?:covered|under warranty)|sold (?:as (?:seen|is)"
    r"|as (?:a )?final sale)|final sale|clearance",
    r"not covered|sold out|out of stock",
    r"(?:is|are|was|were) (?:off|greyed out)(?! (?:the|your|to)\b)",
)
"""Says why not: a refusal where the message says no in no other way."""

LEADS_ON = Phrases(
    r"(?:unless|without|until|before) (?:i|we|you|the|your|a|an|knowing|it|having|that|this|more)",
    r"(?:can|could) not (?:\w+ )?(?:proceed|go on|continue|start|begin|look|search"
    r"|register|open a|verify|go ahead|identify|move)",
    r"(?:once|as soon as|when|if) you (?:write|send|give|tell|provide|contact|confirm|let)",
    r"do not (?:have|know|want to (?:cancel|send|touch|change|do)|yet|see)",
)
"""Says what is missing, not no: "I can't start without the number"."""
