"""A language model as author of worlds: it writes a blueprint, and the validator and the proof say what to repair.

`write_world(brief, model, folder)` asks until a document is proved, or refuses and reports the remaining findings. The
model does not judge: the same code as for every other world decides whether a world is proved. Its output is data of
bounded size, read without `eval`, and proved in a process with bounded time and memory.
"""

from palaestra.proof.authoring.author import AuthoringBrief, AuthoringResult, write_world
from palaestra.proof.authoring.drafts import AuthoredDraft, DraftFolder
from palaestra.proof.authoring.judgement import Judgement, LeastSize, judge_document
from palaestra.proof.authoring.limited import ProofLimits, judge_within_limits

__all__ = [
    "AuthoredDraft",
    "AuthoringBrief",
    "AuthoringResult",
    "DraftFolder",
    "Judgement",
    "LeastSize",
    "ProofLimits",
    "judge_document",
    "judge_within_limits",
    "write_world",
]
