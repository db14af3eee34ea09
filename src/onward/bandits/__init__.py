"""Linear bandits: worlds to play in, and policies that play."""
