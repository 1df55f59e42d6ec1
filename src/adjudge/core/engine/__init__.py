"""Ballot → Vote: the only place where the stages are called together."""
