"""What users write with: dimensions, tensors, functions, families; and the tracer that reads it.

A spec runs once as plain Python on `Value`s. Each op builds a node of the graph and remembers the
span of source it came from; locals give nodes their names. Nothing here knows about kernels.
"""
