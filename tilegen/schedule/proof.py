"""What the records of the compiler say of a config: nothing, that it fits, or why it must go.

A config is launched with several kernels: those of all variants of an op, and both of a split. Its
proof is the worst of theirs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tilegen.families.program import Program
from tilegen.records import Records, entry_name, holds
from tilegen.schedule.kinds import KINDS
from tilegen.schedule.search import Key, Values

#: The version of Triton whose numbers count. Another version can only take a config out.
REFERENCE: Final = "3.6"


@dataclass(frozen=True, slots=True)
class Said:
    """What one version of Triton said of a config: the worst of its kernels.

    Attributes:
        shared: bytes of shared memory of a program.
        registers: of a thread.
        held: the same in the kernels that the table is named for, without those of split rows; 0
            for elementwise ones, whose choice does not depend on it.
        spill: bytes of a thread.
        fault: why the config must go; empty if it may stay.
        rejected: why no call can get here: the GPU lacks a dtype.
        fastest: it was measured the fastest of its table.
        allowed: bytes that it may spill, and still be faster than what is done without it.
        wider: it is kept for rows that no other config holds.
        complete: all kernels have records that hold.
    """

    shared: int = 0
    registers: int = 0
    held: int = 0
    spill: int = 0
    fault: str = ""
    rejected: str = ""
    fastest: bool = False
    allowed: int = 0
    wider: bool = False
    complete: bool = True

    @property
    def unknown(self) -> bool:
        """Whether there is no record at all."""
        return not self.complete and not self.registers

    @property
    def spills(self) -> int:
        """What goes before it: 0 nothing, 1 other configs of its table, 2 other schedules as well."""
        if self.fastest:
            return 0
        return 2 if self.spill > self.allowed else int(self.wider or self.spill > 0)


#: Of a config without records.
UNPROVEN: Final = Said(complete=False)


@dataclass(frozen=True, eq=False)
class Proofs:
    """The records of one op that hold; compared by identity.

    Attributes:
        stored: by architecture class, then by Triton version: records by entry.
        kernels: by table ("block"; "loop" counts splits in), the kernels launched with its configs.
        main: of them those that a table of row kernels is named for.
    """

    stored: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]] = field(
        default_factory=dict
    )
    kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    main: frozenset[str] = frozenset()

    def of(self, table: str, key: Key, values: Values) -> Said:
        """What counts: the reference compiler's numbers, or else the newest's; any one's fault."""
        found = self.by_version(table, key, values)
        for said in found.values():
            if said.fault:
                return said
        whole = [version for version, said in found.items() if said.complete]
        best = [version for version in whole if version.startswith(f"{REFERENCE}.")] or whole
        return found[best[-1]] if best else UNPROVEN

    def by_version(self, table: str, key: Key, values: Values) -> dict[str, Said]:
        """What each version of Triton that has a record said, the newest last."""
        versions = self.stored.get(key.target.architecture)
        if not versions:
            return {}
        given = dict(values)
        names = [entry_name(name, key.size, given) for name in self.kernels.get(table, ())]
        found = {}
        for version, records in versions.items():
            own = [records.get(name) for name in names]
            if any(own):
                said = _worst(version, names, own, key.target.shared_per_program)
                held = [
                    r.get("registers", 0)
                    for n, r in zip(names, own, strict=True)
                    if r and n.split(" ", 1)[0] in self.main
                ]
                found[version] = replace(said, held=max(held, default=0) if said.complete else 0)
        return found


def _worst(
    version: str, names: Sequence[str], records: Sequence[Mapping[str, Any] | None], most: int
) -> Said:
    """The worst of the kernels of a config."""
    known = [record for record in records if record]
    shared = max(record.get("shared", 0) for record in known)
    failures = [
        f"{name.split()[0]} does not compile: {record['failed']}"
        for name, record in zip(names, records, strict=True)
        if record and "failed" in record
    ]
    if shared > most:
        failures.append(f"{shared} B shared of at most {most}")
    return Said(
        shared=shared,
        registers=max(record.get("registers", 0) for record in known),
        spill=max(record.get("spill", 0) for record in known),
        fault=f"Triton {version}: {failures[0]}" if failures else "",
        rejected=next((record["rejected"] for record in known if "rejected" in record), ""),
        fastest=any(record.get("fastest") for record in known),
        complete=len(known) == len(records),
    )


def proofs(
    op: str,
    programs: Sequence[Program],
    stored: Mapping[str, Records],
    hashes: Mapping[str, str],
) -> Proofs:
    """The records of an op that still hold.

    Args:
        op: its name.
        programs: of its variants.
        stored: by architecture class, all records of a folder.
        hashes: of its kernels, by `tilegen.records.kernel_hashes`.
    """
    kernels: dict[str, dict[str, None]] = {}
    main: set[str] = set()
    for program in programs:
        for schedule in program.schedules:
            names = kernels.setdefault(schedule.table, {})
            names |= dict.fromkeys(kernel.name for kernel in schedule.kernels)
            if KINDS[schedule.kind].doc and KINDS[schedule.kind].rows:
                main.add(schedule.kernels[0].name)
    holding = {
        architecture: {
            version: dict(_holding(of_version.get(op, {}), hashes))
            for version, of_version in sorted(records.items(), key=lambda pair: _number(pair[0]))
        }
        for architecture, records in stored.items()
    }
    whole = {table: tuple(names) for table, names in kernels.items()}
    return Proofs(holding, whole, frozenset(main))


def _holding(
    records: Mapping[str, Mapping[str, Any]], hashes: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, record in records.items():
        if holds(record, hashes.get(name.split(" ", 1)[0])):
            yield name, record


def _number(version: str) -> list[int]:
    """The order of versions: 3.10.0 after 3.9.0."""
    return [int(part) for part in version.split("+")[0].split(".") if part.isdecimal()]
