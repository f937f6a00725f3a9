"""One fitted model for every task: what was learned, on which graph it answers, its file, and how it is fitted."""
