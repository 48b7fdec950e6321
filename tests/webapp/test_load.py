"""The load benchmark at its smallest: every page is told, every vote is there once."""

import subprocess
import sys

import pytest

from trainer.process import ROOT

SIZES = "--people 20 --experiments 2 --arrivals 5 --arrival-seconds 5 --votes-per-second 5 --waiting-seconds 2"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_no_vote_is_lost_and_every_page_is_told():
    command = [sys.executable, "-m", "benchmarks.load", *SIZES.split(), "--undo-seconds", "1"]
    printed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "20 votes acknowledged: 0 lost, 0 stored twice, 0 stored without acknowledgement." in printed, printed
    assert "2 rounds with every vote, 2 answered, 0 counted wrongly." in printed, printed
    assert "0 pages not told, 0 without the round; 5 people arrived, 5 are in the study" in printed, printed
    assert "Failed" not in printed and "0 experiments failed" in printed, printed
