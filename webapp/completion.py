"""`./prefine completion`: the script by which bash and zsh complete verbs, options and names. It imports no Django."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from shlex import quote

from llm.methods import OFFERED
from simulation import catalog
from trainer.preferences import algorithms
from webapp.experiments.judges import CHOICES_WITHOUT_PEOPLE

LAUNCHER = Path(__file__).resolve().parents[1] / "prefine"
SETTINGS = "--judge --judge-option --preset --iterations --seed --model --describer --judge-model --vision"
BUDGETS = "--token-budget --dollar-budget"
SHARED = "--shared-experience"
OPTIONS = {
    "up": "--port --host",
    "worker": "train film llm --device --name",
    "restore": "--check --overwrite",
    "copy-store": "local bucket",
    "test": "--quick --all",
    "run": f"--task --problem --method --option --k --n {SETTINGS} --start {SHARED} {BUDGETS} --prompts --name"
    " --resume",
    "compare": f"--tasks --methods --budget --experiments {SETTINGS} {BUDGETS} --label --with --out --plan --report"
    " --retrain --contrasts --controls --estimate --as-published",
    "align": "--model --videos --answers --pictures",
    "train": f"--task --reward --preset --algorithm --iterations --seed --seeds {SHARED} --out --override",
    "learn": "--task --baseline --queries --preset --truth --reward --prior --policy --segment --selection --teacher"
    " --unsupervised --beside --iterations --seeds --out --override",
    "evaluate": "--candidate --episodes --seeds --film --out --json",
    "check": "--task --states",
    "check-task": "--film",
    "replay": "--lenient",
    "benchmark": "--tasks --out",
    "completion": "bash zsh",
    "lock": "--upgrade --upgrade-package",
}
"""What may follow each verb; a test compares it with the verbs' own help. Here, because asking each verb is slow."""
VALUES: dict[str, Collection[str]] = {
    "--task | --tasks": catalog.list_tasks(),
    "--method | --methods": OFFERED,
    "--judge": [name for name, _ in CHOICES_WITHOUT_PEOPLE],
    "--preset": catalog.PRESETS,
    "--algorithm": catalog.ALGORITHMS,
    "--baseline": algorithms.METHODS,
    "--selection": algorithms.SELECTIONS,
    "--truth": algorithms.TRUTHS,
}
"""The names that may follow an option."""
FIND_NAMES = """\
_prefine_find_names() { # the word to complete and those before it; sets `names` to what it may become
  local word=$1 verb=${2-} option= previous=-
  names='%(verbs)s'
  [ $# -gt 1 ] || return 0
  shift 2
  for previous; do
    case $previous in -*) option=$previous ;; esac
  done
  case $verb in
%(options)s
    *) names= ;;
  esac
  case $word in -*) return 0 ;; esac
  case $option in "$previous" | --tasks | --methods) ;; *) return 0 ;; esac
  case $option in
%(values)s
    *) names= ;;
  esac
}
"""
SHELLS = {
    "bash": """\
_prefine() {
  local names name restore
  _prefine_find_names "$2" "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  restore=$(shopt -p nocasematch)
  shopt -s nocasematch
  COMPREPLY=()
  for name in $names; do [[ $name != "$2"* ]] || COMPREPLY+=("$name"); done
  $restore
}
complete -o default -F _prefine prefine
""",
    "zsh": """\
_prefine() {
  local names
  _prefine_find_names "$words[CURRENT]" "${(@)words[2,CURRENT-1]}"
  compadd -M 'm:{a-zA-Z}={A-Za-z}' -- ${=names} || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _prefine prefine
""",
}
"""What hands the names to the shell, which completes files where no name fits."""


def write_script(shell: str, verbs: Collection[str]) -> str:
    """The script for bash or zsh."""
    find_names = FIND_NAMES % {
        "verbs": " ".join(verbs),
        "options": _write_cases(OPTIONS),
        "values": _write_cases({option: " ".join(names) for option, names in VALUES.items()}),
    }
    line = quote(f'eval "$({quote(str(LAUNCHER))} completion {shell})"')
    return f"{find_names}{SHELLS[shell]}# Install it with: echo {line} >> ~/.{shell}rc\n"


def _write_cases(names: dict[str, str]) -> str:
    return "\n".join(f"    {pattern}) names='{words}' ;;" for pattern, words in names.items())


if __name__ == "__main__":
    print(write_script(sys.argv[1], sys.argv[2:]), end="")
