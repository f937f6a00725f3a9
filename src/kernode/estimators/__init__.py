"""scikit-learn's contract at the front: X is an array of nodes, the graph a keyword of ``fit``."""

from kernode.estimators.classifier import NodeKernelClassifier
from kernode.estimators.loading import load_model
from kernode.estimators.transformer import NodeKernelTransformer

__all__ = ["NodeKernelClassifier", "NodeKernelTransformer", "load_model"]
