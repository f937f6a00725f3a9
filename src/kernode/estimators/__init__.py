"""scikit-learn estimators: classes of nodes, vectors of nodes, links."""
