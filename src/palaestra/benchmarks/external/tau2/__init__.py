"""tau2-bench: customer service under a policy, with a user who acts too."""
