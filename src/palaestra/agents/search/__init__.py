"""Tree search over forks of the current world."""

from palaestra.agents.search.agent import Branch, BranchValue, Proposer, TreeSearchAgent
from palaestra.agents.search.proposers import AgentProposer, LegalProposer
from palaestra.agents.search.tree import SearchConfig, SearchNode, SearchTree
from palaestra.agents.search.values import ChatValue, RequestCoverage

__all__ = [
    "AgentProposer",
    "Branch",
    "BranchValue",
    "ChatValue",
    "LegalProposer",
    "Proposer",
    "RequestCoverage",
    "SearchConfig",
    "SearchNode",
    "SearchTree",
    "TreeSearchAgent",
]
