"""Accuracy, calibration, ranking, and significance of differences. Figures are percentages."""
