"""Methods compared at equal budget: a plan of experiments, carried through, and a report with what the papers print."""
