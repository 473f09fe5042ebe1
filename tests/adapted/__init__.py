"""What tests of adapters share: environments that are watched, and the conformance suite for all adapters."""
