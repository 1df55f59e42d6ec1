"""Attacks by text alone: families of attacks, attacked rows and their results."""
