"""What runs inside a sandbox, in the interpreter of the program: the standard library alone, whatever the backend."""
