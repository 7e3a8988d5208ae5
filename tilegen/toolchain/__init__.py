"""What needs torch and Triton: compile, check, bench."""
