"""One page about a model: a file that needs no network."""
