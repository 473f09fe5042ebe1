"""`python -m palaestra`: the command, for launchers that start modules."""

from palaestra.cli import main

if __name__ == "__main__":
    main()
