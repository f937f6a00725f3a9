"""How graphs come in, and how their nodes are split."""
