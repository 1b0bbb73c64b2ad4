"""Mutants of the kernel, and the proofs as the test suite that must kill them."""
