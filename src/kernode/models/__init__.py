"""One fitted model for every task: what was learned, its graph, its file, and how it is fitted."""
