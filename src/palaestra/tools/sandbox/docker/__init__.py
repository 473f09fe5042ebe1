"""The Docker sandbox: a fresh container for each program, which ends with it and leaves nothing behind.

`backend` runs in Palaestra's process. Only `engine` uses the Docker Engine, through the SDK of the extra `docker`.
`hardening` states what a container may do, `pipes` connects it, `owners` removes the remains of killed processes.
`boot` and `guard` run in the container, with only the standard library; `image/` has the sources of the image.
"""
