"""The graph that every family shares: nodes, op table, verifier, passes, dump.

Values have named dimensions and no layout; how they lie in memory is said by operands and
outputs, how a kernel walks over them is a family's business.
"""
