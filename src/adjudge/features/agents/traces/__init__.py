"""Recorded runs of agents, in anybody's format, read as trajectories."""
