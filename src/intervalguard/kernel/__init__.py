"""The pure kernel: the standard library and attrs, no clock, no input or output, no threads, no framework.

All that can change a verdict is in here, once. Everything else calls it.
"""
