"""Which processes run, with the words they were called with."""

import subprocess


def running() -> dict[int, str]:
    """Command lines by process number, as `ps` tells them on every Unix."""
    words = ["ps", "-ww", "-e", "-o", "pid=,args="]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(_parted(line) for line in lines)


def _parted(line: str) -> tuple[int, str]:
    pid, _, words = line.strip().partition(" ")
    return int(pid), words
