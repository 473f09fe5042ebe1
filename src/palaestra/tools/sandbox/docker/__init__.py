"""The sandbox of Docker: a fresh container for each program, which ends with it and leaves nothing behind.

`backend` is the side of Palaestra. `engine` alone speaks to the Docker Engine, through the SDK of the extra `docker`.
`hardening` states what a container may do, `pipes` connects it, `owners` removes what a process left that was killed.
`boot` and `guard` run in the container, with the standard library alone; `image/` is what it is made from.
"""
