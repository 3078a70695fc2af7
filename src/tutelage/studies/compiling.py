"""How the programs that studies bring along are compiled."""

# Programs that draw random numbers take longer to compile than to run at quick scale, unless XLA tries less hard; they
# are as fast.
LITTLE_EFFORT = {"xla_backend_optimization_level": 1}
