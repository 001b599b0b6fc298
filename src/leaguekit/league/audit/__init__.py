"""The audit of a log: it must be consistent, and the table must follow from its results. Pure."""
