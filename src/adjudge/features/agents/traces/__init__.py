"""Recorded runs of agents in any known format, read as trajectories."""
