"""Whether a judge has changed: anchors that are judged again, and what their history says."""
