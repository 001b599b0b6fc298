"""The five documents of the specification as data: every requirement, one row each."""
