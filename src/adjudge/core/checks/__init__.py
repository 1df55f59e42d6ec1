"""Checks of a text by a program, without asking a model."""
