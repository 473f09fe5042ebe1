"""Test worlds: one sound, and one broken environment for every rule of `check_env`.

Importing it registers them, as `import palaestra` does for the bundled ones, so that another process can make them.
"""

from worlds.registration import register

register()
