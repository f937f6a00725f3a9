"""The paper's tables and figures: one settings file per table, a stored result per cell, verdicts."""
