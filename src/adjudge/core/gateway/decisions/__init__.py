"""The wire formats of decision models, in both directions."""
