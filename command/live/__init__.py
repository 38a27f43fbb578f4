"""`ottla top`: the current rates and lags in a cluster."""
