"""Placeholder space."""

from collections.abc import Iterable

from tilegen.schedule.space import ConfigText, Space, SpaceRow


def spaces(kinds: Iterable[str], architectures: Iterable[str]) -> tuple[Space, ...]:
    table = {
        "flat": ("FLAT_CONFIGS", [("BLOCK", 1024, 4), ("BLOCK", 2048, 4), ("BLOCK", 4096, 8)]),
        "tiled": ("TILED_CONFIGS", [("TILE", 1024, 4), ("TILE", 2048, 4), ("TILE", 4096, 8)]),
        "block": (
            "BLOCK_CONFIGS",
            [
                ("TILE", 1024, 2),
                ("TILE", 2048, 4),
                ("TILE", 4096, 4),
                ("TILE", 8192, 8),
                ("TILE", 16384, 16),
                ("TILE", 32768, 16),
            ],
        ),
        "loop": ("LOOP_CONFIGS", [("TILE", 4096, 4), ("TILE", 8192, 8), ("TILE", 16384, 16)]),
    }
    found = []
    for kind, (name, configs) in table.items():
        if kind not in kinds:
            continue
        rows = tuple(
            SpaceRow(
                f'("{arch}", {size})',
                tuple(
                    ConfigText(f"Config({symbol}={tile}, num_warps={warps})", "0 B shared")
                    for symbol, tile, warps in configs
                ),
            )
            for arch in architectures
            for size in (2, 4)
        )
        found.append(Space(name, f"Configs of the {kind} kernels.", rows))
    return tuple(found)
