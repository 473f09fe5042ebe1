"""What rollouts are tested with: an engine that writes what it is told to, and worlds that misbehave."""
