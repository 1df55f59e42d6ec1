"""Render ballots as prompts. All prompt texts are in ``templates/``, none in code."""
