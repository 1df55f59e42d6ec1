"""Agents judged: rules over a trajectory, questions with evidence in its steps."""
