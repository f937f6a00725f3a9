"""``kernode report``: a saved model on one page."""


def report() -> None:
    """To come."""
