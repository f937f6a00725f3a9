"""What several maps are made of, written for a stack of replicas."""
