"""A real browser as an agent sees it: numbered elements and a few acts. Runs under a benchmark's own interpreter."""
