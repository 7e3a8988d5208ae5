"""`python -m tilegen` is the command `tilegen`."""

from tilegen.cli import main

if __name__ == "__main__":  # not in the processes of `tilegen check`
    main()
