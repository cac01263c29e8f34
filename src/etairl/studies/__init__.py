"""Many runs: asked for, made side by side, and put into tables."""
