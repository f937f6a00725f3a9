import pytest
import torch
from hypothesis import settings

import kernode as kn

# Two workers share two cores: one thread each, or they would wait for each other.
torch.set_num_threads(1)
settings.register_profile("kernode", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("kernode")


@pytest.fixture(scope="session")
def cora():
    """Cora with its FastGCN split."""
    return kn.load("cora", split="fastgcn")
