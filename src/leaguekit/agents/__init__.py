"""The three programs: manager, referee, player."""
