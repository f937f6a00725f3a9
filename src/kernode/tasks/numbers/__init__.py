"""Numbers of nodes, predicted by a Gaussian process on features and edges."""
