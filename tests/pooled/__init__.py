"""What the pool is tested with: time that passes only when nobody has anything to do, and worlds that misbehave."""
