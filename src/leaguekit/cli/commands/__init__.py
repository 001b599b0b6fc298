"""The commands: one module per command, or per group of commands of the same kind."""
