"""Judging claims one by one, with quotes that a program verifies."""
