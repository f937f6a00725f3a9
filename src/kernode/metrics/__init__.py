"""How good answers are: accuracy, ranking of links, retrieval of alike nodes, significance. In percent."""
