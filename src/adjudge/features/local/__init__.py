"""Weights on this machine: runtimes, the queue in front of them, and their files."""
