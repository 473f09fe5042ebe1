"""vLLM behind our protocol."""
