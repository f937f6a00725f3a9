"""Computation for a stack of r replicas: devices, sparse products, draws, Adam, GPU code, memory."""
