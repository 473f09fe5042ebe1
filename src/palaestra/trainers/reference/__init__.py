"""The reference trainer: short, plain, synchronous, on transformers' own model; the fast one must agree with it."""
