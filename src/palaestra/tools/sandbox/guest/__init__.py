"""Code that runs in a program's interpreter inside any sandbox; it uses only the standard library."""
