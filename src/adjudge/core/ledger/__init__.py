"""The record of a run's questions and answers."""
