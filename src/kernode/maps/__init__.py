"""Feature maps g: every node of a graph to a vector."""
