"""`palaestra/CodeRepair-v0`: somebody reports a fault in a small repository; the agent finds and repairs it.

State: the files of eight repositories, as rows. Actions: list, read and search files, replace text in one, run the
visible tests, tell the reporter, finish. Reward: hidden tests that failed pass, the source was read and the tests were
run before the repair and after it, and the reporter knows. Forbidden: a test that passed fails, another file was
changed, callers lost a function, the reporter was told what is not so, the end came untested. Code runs in a sandbox
(`PALAESTRA_SANDBOX`: "namespaces", the default, or "docker"), which is given the files and keeps nothing, so snapshots
and forks hold.

Values that tests expect never enter the process that runs the repository's code: it reports what it computes, and
Palaestra compares. So code can neither read what a hidden test expects nor report that one passed.
"""

PLACE = "palaestra.envs.worlds.coderepair.world:CODE_REPAIR"
"""What `palaestra.register_world` and `--world` take."""
