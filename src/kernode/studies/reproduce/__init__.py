"""The paper, rerun: one settings file per table, a result per cell, a verdict on each and on every claim."""
