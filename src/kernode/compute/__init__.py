"""Numbers on a machine, for a stack of r replicas: places, sparse products, draws, Adam, GPU code, memory."""
