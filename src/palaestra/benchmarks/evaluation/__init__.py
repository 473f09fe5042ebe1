"""How an agent does on a suite: played with intervals, resumable, its faults told apart from its failures."""
