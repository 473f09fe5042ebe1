"""What a policy is trained towards: pure functions on a `TokenBatch`."""
