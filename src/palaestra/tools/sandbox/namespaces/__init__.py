"""The sandbox of Linux namespaces: a fresh interpreter that sees a read-only standard library and nothing else.

`backend` runs in Palaestra's process. The other files run in the new process, with only the standard library: `launch`
starts it, `view` makes the file system, `privileges` drops rights, `seccomp` lists the allowed system calls.
"""
