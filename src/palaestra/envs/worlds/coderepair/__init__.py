"""`palaestra/CodeRepair-v0`: somebody reports a fault in a small repository; the agent finds and repairs it.

State: the files of eight repositories, as rows. Actions: list, read and search files, replace text in one, run the
visible tests, finish. Reward: hidden tests that failed pass, nothing that passed fails, only source files were changed,
the source was read and the tests were run before the repair. Code runs in a sandbox (`PALAESTRA_SANDBOX`: "namespaces",
the default, or "docker"), which is given the files and keeps nothing, so snapshots and forks hold.

Values that tests expect never enter the process that runs the repository's code: it reports what it computes, and
Palaestra compares. So code can neither read what a hidden test expects nor report that one passed.
"""

PLACE = "palaestra.envs.worlds.coderepair.world:CODE_REPAIR"
"""What `palaestra.register_world` and `--world` take."""
