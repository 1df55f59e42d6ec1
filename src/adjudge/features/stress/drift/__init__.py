"""Drift of a judge: anchors that are judged again, and the evidence of their history."""
