"""The Berkeley Function Calling Leaderboard, version 4, through its package `bfcl-eval`."""
