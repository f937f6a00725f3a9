"""kernode."""
