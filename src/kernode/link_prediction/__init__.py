"""The same kernel on pairs of nodes: which links are there (the paper's Eqs. 14-15)."""
