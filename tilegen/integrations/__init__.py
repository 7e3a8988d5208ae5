"""The catalogue in models: modules with the names of torch.nn, and one call that puts them in.

- `tilegen.integrations.nn`: modules to build a model of.
- `swap(model)`: gives the modules of a model that is there the catalogue's kernels; `restore`
  takes them out again.

A module here is a subclass of the one that it stands in for and adds no state, so a swap changes
the class of a module and nothing else: parameters, buffers, hooks, mode, device, names and whoever
holds the module stay. Copying parameters into new modules would lose hooks and break ties.
"""

from tilegen.integrations.swapping import Report, restore, swap

__all__ = ["Report", "restore", "swap"]
