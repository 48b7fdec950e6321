"""What becomes of what participants were shown and answered (webapp.review)."""

from __future__ import annotations

from webapp.archive.rules import TOKEN, Omitted, Table, keep, keep_link, keep_moment, keep_rows

CANDIDATE = "experiments.Candidate"
TABLES = (
    Table(
        "review.TrialPlan",
        "trial_plans",
        "How many extra sets each participant judged while the robots practised, to check the answers.",
        root="study",
        path="study",
        columns={"study": keep_link(), "attention": keep(), "gold": keep(), "repeated": keep(), "gold_pairs": keep()},
    ),
    Table(
        "review.GoldSet",
        "gold_sets",
        "Videos of which an experimenter said which is best and which worst; those of other studies are left out.",
        root="study",
        path="study",
        inside=("best__iteration__experiment", "worst__iteration__experiment"),
        columns={
            "study": keep_link(),
            "best": keep_link("Known to be the best."),
            "worst": keep_link("Known to be the worst."),
            "whole_round": keep(),
        },
    ),
    Table(
        "review.GoldPair",
        "gold_pairs",
        "Segments of which an experimenter said which is better; those of other studies are left out.",
        root="study",
        path="study",
        inside=("better__session__request__experiment", "worse__session__request__experiment"),
        columns={
            "study": keep_link(),
            "better": keep_link("Known to be better."),
            "worse": keep_link("Known to be worse."),
        },
    ),
    Table(
        "review.Screening",
        "screenings",
        "Rounds as each participant saw them: the order of the videos as it was drawn, with its seed.",
        root="experiment",
        path="request__experiment",
        person="participant",
        columns={
            "request": keep_link(),
            "participant": keep_link(),
            "token": TOKEN,
            "seed": keep("The order was drawn from it."),
            "order": keep_rows(CANDIDATE, "The candidates in the order shown; the first is letter A."),
            "opened_at": keep_moment("When the page was first opened."),
        },
    ),
    Table(
        "review.Vote",
        "votes",
        "What participants picked. A vote that was taken back stays, with the time of that.",
        root="experiment",
        path="request__experiment",
        person="screening__participant",
        columns={
            "request": keep_link(),
            "screening": keep_link(),
            "best": keep_link("Picked as best."),
            "worst": keep_link("Picked as worst."),
            "cannot_tell": keep(
                "The person could not judge; best and worst were then drawn from the screening's seed."
            ),
            "broken": keep("Why not: something was wrong with the videos. 0: they could not tell them apart."),
            "reason": keep("What the person wrote."),
            "tags": keep("Tags that were tapped."),
            "client": keep(
                "What the browser measured until then: times in ms, plays, focus lost (webapp/review/telemetry.py)."
            ),
            "created_at": keep_moment("When the vote was saved."),
            "undone_at": keep_moment("When it was taken back."),
            "locked_at": keep_moment("When it could no longer be taken back."),
        },
    ),
    Table(
        "review.PairScreening",
        "pair_answers",
        "Pairs of segments as each participant saw them, and what they answered.",
        root="experiment",
        path="pair__session__request__experiment|mixed_into__request__experiment",
        person="participant",
        columns={
            "pair": keep_link("Empty: a gold pair, from which no policy learned."),
            "gold": keep_link(
                "The gold pair; its first segment is the better one. Empty where it is not in the export."
            ),
            "mixed_into": keep_link("The session among whose pairs a gold pair was shown."),
            "participant": keep_link(),
            "token": TOKEN,
            "swapped": keep("Whether the second segment was on the left, as A; drawn at random."),
            "copy": keep("Which of the answers that the pair needed this one was, from 0."),
            "answer": keep("first, second, equal or skip (cannot tell); empty: not answered, or taken back."),
            "sequence": keep("Orders the changes of one page."),
            "changes": keep("How often an answer was taken back."),
            "seconds": keep("From when the pair was on the screen until the answer, by the browser.", "s"),
            "offered_at": keep_moment("When the page last asked for it."),
            "answered_at": keep_moment("When it was answered."),
            "released_at": keep_moment("When it was given to somebody else; a later answer did not count."),
        },
    ),
    Table(
        "review.Trial",
        "trials",
        "Sets judged while the robots practised, to check the answers. The loop never sees them.",
        root="study",
        path="participant__study",
        person="participant",
        columns={
            "participant": keep_link(),
            "kind": keep("attention, gold or repeated."),
            "number": keep("Its place in the participant's plan."),
            "round": keep("The round whose robots practised meanwhile."),
            "repeats": keep_link("The round that is shown again."),
            "token": TOKEN,
            "seed": keep("The order was drawn from it."),
            "order": keep_rows(CANDIDATE, "The candidates in the order shown; empty places are of other studies."),
            "expected_best": keep_link("What should be picked as best."),
            "expected_worst": keep_link("What should be picked as worst."),
            "best": keep_link("Picked as best."),
            "worst": keep_link("Picked as worst."),
            "cannot_tell": keep("The person could not judge."),
            "broken": keep("Why not: something was wrong with the videos."),
            "client": keep("What the browser measured, as for votes."),
            "opened_at": keep_moment("When the page was first opened."),
            "answered_at": keep_moment("When it was answered."),
        },
    ),
    Table(
        "review.Viewing",
        "viewings",
        "How one opened page was watched, as the browser tells it.",
        root="study",
        path="screening__participant__study|trial__participant__study",
        person="screening__participant|trial__participant",
        columns={
            "screening": keep_link("Where it was a round."),
            "trial": keep_link("Where it was a trial."),
            "sitting": keep("Drawn by the page each time it was opened."),
            "data": keep("Loads, plays, pauses, focus, in ms since the page was opened (webapp/review/telemetry.py)."),
            "started_at": keep_moment("When the page was opened."),
            "updated_at": keep_moment("When it last told something."),
        },
    ),
)
OMITTED = (Omitted("review.ClipTicket", "Addresses of clips, each for one person.", person="participant"),)
