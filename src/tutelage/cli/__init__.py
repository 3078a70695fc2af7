"""The command line. Nothing that computes is imported before a command that computes runs."""

from tutelage.cli.main import main as main
