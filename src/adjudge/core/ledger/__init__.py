"""What was asked and answered."""
