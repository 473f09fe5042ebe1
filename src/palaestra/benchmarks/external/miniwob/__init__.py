"""MiniWoB++: small tasks on web pages, played in a real browser."""
