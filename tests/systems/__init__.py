"""The commands on systems that lack what Linux has."""
