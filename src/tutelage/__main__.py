"""`python -m tutelage`: the command, where the folder of scripts is not on the path."""

from tutelage.cli import main

if __name__ == "__main__":
    main()
