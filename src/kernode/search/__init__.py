"""Many trainings: search for settings, comparison with baselines, estimate of a run's memory and time."""
