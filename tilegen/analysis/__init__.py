"""What can be said of a graph without running it: padding, passes, cost, roofline."""
