"""README.txt of an export."""

from __future__ import annotations

from webapp.archive import dictionary
from webapp.archive.study_scope import Options, Scope
from webapp.archive.tables import TABLES

TEXT = """\
{title}
{line}

An export of a study made with Prefine: people watch robots and say which ones they like. A language model writes
better reward functions from that; under PrefPPO, PEBBLE, SURF, QPA, RIME and RL-VLM-F none writes, and the policy
learns its reward from the answers.

What is here
  results.csv      one row per experiment: participant, arm, winner's score, rounds, times, why it does not count, and
                   the scores that people gave in questionnaires
  rounds.csv       the pick of every judged round, with its score
  choices.csv      every video or answer in every confirmed choice: who, where on the page, best or worst, score
  pairs.csv        every answer about two segments of a training: who, session, which was better, gold pairs
  results.ipynb    a notebook that reads these and redraws the figures, intervals and tests of the results page
  results.R        the same in R
  questionnaires.csv  what people answered: a row for each person and moment, a column for each variable
  codebook.csv     what these columns mean
  tables/          every table as CSV (for spreadsheets and statistics) and as JSON (one row a line)
  dictionary.csv, dictionary.md    every column of these: meaning, unit, type
  seeds.csv        every seed in one list
  code/            reward functions, <experiment>/<candidate>.py
  traces/          what each training went through, <experiment>/<candidate>.csv
  preferences/     how reward models learned from answers about pairs, session by session, <experiment>/<candidate>.csv;
                   only of methods that ask pairs
  replay/          each experiment as `python -m llm.replay` replays it, without a model or a simulator;
                   --lenient for one that saw an upgrade
  figures/         scores over the rounds, as drawing and as numbers
  polls/           votes: analysis plan, answers, results, figures
  problems/        figures and files of problems, where the task was no robot's
  {clips}
  {policies}
  versions.json    Prefine, its packages, its commit
  manifest.json    every file with size and SHA-256
  SHA256SUMS       the same for `sha256sum --check SHA256SUMS`

How many
{counts}
What is not here
  No names, no e-mail addresses, no recruitment ids, no personal links, no keys of language models. People have
  pseudonyms{labels}. No export says who a pseudonym stands for.
{sealed}
{withheld}
Good to know
  Numbers that point to rows (columns of type "whole number" that name a table) count the rows of this export from 1.
  Times are UTC. In CSV a text cell that begins with = + - or @ has a ' before it, so that no spreadsheet runs it;
  JSON has it as it was. Anything that a person wrote may say anything: read reasons before you publish them.
  Files have no time of their own: the same data gives the same zip, byte for byte.
  To look at all this as the experimenters did: `./prefine manage import_study FILE.zip`, in a Prefine of the same
  version.
"""


def render_readme(scope: Scope, counts: dict[str, int], options: Options) -> str:
    study = scope.study
    withheld = "".join(f"  {table}.{field}: {why}\n" for table, field, why in dictionary.list_withheld(TABLES.values()))
    return TEXT.format(
        title=study.title,
        line="=" * min(100, len(study.title)),
        clips="clips/, votes/   films (MP4) and stills (JPEG)"
        if options.clips
        else "(films were left out of this export)",
        policies="policies/        final policies of the candidates (PyTorch)"
        if options.checkpoints
        else "(policies were left out)",
        counts="".join(f"  {counts[table.file]:>8}  {table.file}\n" for table in TABLES.values()),
        labels=" drawn for this export alone" if options.fresh_labels else "",
        sealed=f"  {scope.sealed} vote(s) that are not closed: their results are sealed.\n" if scope.sealed else "",
        withheld=withheld,
    )
