"""Results → what people read. Every number comes from one summary, computed once."""
