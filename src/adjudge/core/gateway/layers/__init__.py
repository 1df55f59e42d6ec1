"""The links of the chain around a provider, each adding one thing."""
