"""Named algorithms: thin choices of the pieces below."""
