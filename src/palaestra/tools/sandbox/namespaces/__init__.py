"""The sandbox of Linux namespaces: a fresh interpreter that sees a read-only standard library and nothing else.

`backend` is the side of Palaestra. The other files run in the new process, with the standard library alone: `launch`
starts, `view` makes the file system, `privileges` takes rights away, `seccomp` lists the calls of the system.
"""
