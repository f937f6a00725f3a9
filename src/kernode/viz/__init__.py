"""Pictures, the report and the explorer."""
