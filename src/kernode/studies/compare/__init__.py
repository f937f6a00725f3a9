"""Who is really better: every method on the same random splits, with the same budget, tested in pairs."""
