"""`etairl completion`: a script for the shell that completes commands, options and files."""

import contextlib
import io
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Literal

import tyro

from etairl.cli.console import parse

_ACTIONS = {"demos": ("ls", "info", "import", "export"), "study": ("status",)}
_OPTION = re.compile(r"^[│ ]*(?:-\w(?: \S+)?, )?(--[a-z][\w-]*)", re.MULTILINE)
_BASH = """\
_etairl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words= files=yes
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}" files=
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "$word" in -*) files= ;; esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _etairl etairl
"""


@dataclass(frozen=True)
class Config:
    """Print a script that completes commands, options and files.

    bash: etairl completion bash > ~/.local/share/bash-completion/completions/etairl

    zsh: etairl completion zsh > ~/.etairl-completion, and in ~/.zshrc: source ~/.etairl-completion

    fish: etairl completion fish > ~/.config/fish/completions/etairl.fish
    """

    shell: Annotated[
        tyro.conf.Positional[Literal["bash", "zsh", "fish"]], tyro.conf.arg(metavar="SHELL")
    ]
    """bash, zsh or fish"""


def run(arguments: list[str]) -> int:
    """Print the script."""
    config = parse(Config, arguments, "completion")
    words = known_words()
    if config.shell == "fish":
        print(_fish(words), end="")
        return 0
    cases = "\n".join(f'      {name}) words="{" ".join(own)}" ;;' for name, own in words.items())
    # zsh understands the completions of bash once it is told to.
    before = "autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n"
    script = _BASH.format(commands=" ".join(words), cases=cases)
    print((before if config.shell == "zsh" else "") + script, end="")
    return 0


def known_words() -> dict[str, list[str]]:
    """The actions and options of every command, as its help has them."""
    from etairl.cli.app import COMMANDS

    words = {}
    for name in COMMANDS:
        actions = _ACTIONS.get(name, ())
        texts = [_help(name, [action]) for action in actions] if name == "demos" else []
        texts = texts or [_help(name, words) for words in ([], *([a] for a in actions))]
        own = {option for text in texts for option in _OPTION.findall(text)}
        more = {"--help", "--help-all"} if name == "train" else {"--help"}
        words[name] = [*actions, *sorted(own | more)]
    return words


def _help(command: str, before: list[str]) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        import_module(f"etairl.cli.{command}").run([*before, "--help"])
    return text.getvalue()


def _fish(words: dict[str, list[str]]) -> str:
    from etairl.cli.app import COMMANDS

    lines = []
    for name, own in words.items():
        about = COMMANDS[name].replace("'", "\\'")
        lines.append(f"complete -c etairl -n __fish_use_subcommand -f -a {name} -d '{about}'")
        seen = f"'__fish_seen_subcommand_from {name}'"
        for word in own:
            what = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c etairl -n {seen} {what}")
    return "\n".join(lines) + "\n"
