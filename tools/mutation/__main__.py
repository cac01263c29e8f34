"""`make mutation`: which small faults do the tests not notice?

    make mutation                       # all modules
    make mutation MODULES="eta mmd"     # some

A mutant that was judged is not judged again while its module and the tests that decide about it are
the same. Survivors that are listed in `equivalent.toml`, with a reason, change no number. Exit code
1 if another one survives.
"""

import argparse
import sys
from pathlib import Path

from mutation.equivalents import listed, stale
from mutation.records import Records, table, write_summary
from mutation.session import judge
from mutation.targets import ROOT, TARGETS, Target


def main() -> int:
    """Judge, print a table, and say whether all is noticed."""
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("--modules", default="", help=f"some of: {', '.join(TARGETS)}")
    parser.add_argument("--records", type=Path, default=ROOT / "mutation.jsonl")
    parser.add_argument("--summary", type=Path, help="a JSON file for the counts")
    parser.add_argument(
        "--without-imports", action="store_true", help="leave defaults and fields of classes out"
    )
    parser.add_argument("--count", action="store_true", help="judge nothing, count what is known")
    asked = parser.parse_args()
    names = asked.modules.split() or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"no module {unknown[0]!r}; there are {', '.join(TARGETS)}")
    targets = [target for name in names for target in TARGETS[name]]
    equivalent = listed()
    gone = stale({target.module for target in targets})
    for name in gone:
        print(f"listed, but no longer there: {name}")
    records = Records(asked.records)
    alike: dict[tuple[str, ...], list[Target]] = {}
    for target in targets:
        alike.setdefault(target.tests, []).append(target)
    for together in [] if asked.count else alike.values():
        judge(together, records, equivalent, imports=not asked.without_imports)
    counts = records.counts(targets, equivalent)
    print(table(counts))
    if asked.summary:
        write_summary(asked.summary, counts)
    survivors = [n for target in targets for n in records.survivors(target) if n not in equivalent]
    killed = [n for target in targets for n in records.killed(target) if n in equivalent]
    for name in survivors:
        print(f"survived: {name}")
    for name in killed:
        print(f"listed as equivalent, but a test notices it: {name}")
    return 1 if survivors or killed or gone else 0


if __name__ == "__main__":
    sys.exit(main())
