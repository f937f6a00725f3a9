"""Behaviour frozen from outside: what commands and estimators answer, compared with stored answers."""
