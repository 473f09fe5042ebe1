"""What `palaestra tasks new` writes: a folder for each world, a file for each kind of family, and the test of any.

The files are whole and proved as they stand; a new family gets its name in the place of `my-family`.
"""
