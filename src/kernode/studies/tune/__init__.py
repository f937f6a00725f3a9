"""Search for good settings: many trials are trained at once, as the replicas of one stack."""
