"""Numbers → what people see: terminal, Markdown, HTML. Computes nothing and opens no ledger."""
