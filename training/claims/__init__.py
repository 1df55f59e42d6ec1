"""Sentences that people compared with a source: read from public repositories, made by rule,
tokenised, and measured.
"""
