"""AgentDojo: office work by tools, with and without attacks by injected text."""
