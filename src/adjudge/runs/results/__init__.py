"""Records → numbers: tallies, summaries, contests, gates, comparisons. Knows no language."""
