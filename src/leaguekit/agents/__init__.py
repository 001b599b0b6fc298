"""What every agent has: its calls, its registration, its server, its rate limits, its logs, and its environment."""
