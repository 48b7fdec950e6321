"""What becomes of the rows of a loop (webapp.experiments)."""

from __future__ import annotations

from typing import Any

from webapp.archive.rules import NAME, STAFF, Omitted, Table, keep, keep_link, keep_moment, keep_text, leave_out

RUNS_AGAIN = ("draft", "running", "waiting")
"""States from which a loop would go on by itself or by one click."""


def stop_loop(status: Any) -> Any:
    """The status of an imported experiment, which never runs again."""
    return "cancelled" if status in RUNS_AGAIN else status


def end_job(status: Any) -> Any:
    """The status of an imported job: over, and not counted where this installation measures its speed."""
    return "cancelled"


SETTINGS = {
    "task": keep("Task that the robot learns."),
    "method": keep("Method that writes the rewards, or has a policy learn its reward from pairs (llm/methods)."),
    "judge": keep("Who judges: human, proxy (the hidden metric) or model."),
    "k": keep("Candidates per round, K."),
    "n": keep("Rounds, N."),
    "preset": keep("Training settings: quick or paper."),
    "training_start": keep(
        "What each round's policies start from: random, upright (a policy that stays up), best, or best_short (the "
        "same, with shorter trainings)."
    ),
    "shared_experience": keep("Whether each policy learned from what all of its round did."),
    "model": keep_link(
        "Language model that writes the rewards; empty: the offline writer, or a method that writes nothing."
    ),
    "describer": keep_link("Language model that describes differences; empty: the one that writes."),
    "judge_model": keep_link("Language model that judges; empty: the one that writes."),
    "vision": keep_link("Language model that looks at frames; empty: nobody looks."),
    "prompt_set": keep_link("Prompts that it asked with; empty: Prefine's own, or those of the installation."),
    "token_budget": keep("Tokens read and written, at most; empty: no limit.", "tokens"),
    "dollar_budget": keep("Cost, at most; empty: no limit.", "US dollars"),
    "options": keep("The method's options that differ from their defaults."),
    "judge_options": keep("The judge's options that differ from their defaults."),
}

TABLES = (
    Table(
        "experiments.LanguageModel",
        "language_models",
        "Language models that the experiments used.",
        root="language model",
        path="",
        columns={
            "name": keep("Name on the bench."),
            "kind": keep(
                "offline (built in, rule-based, not a language model) or openai (an endpoint of that interface)."
            ),
            "base_url": leave_out(
                "Where a model is reached is this installation's affair, and an imported address must not be called."
            ),
            "model": keep("The model's name at its endpoint."),
            "api_key": leave_out("A secret."),
            "price_input": keep("Price of a million input tokens.", "US dollars"),
            "price_output": keep("Price of a million output tokens.", "US dollars"),
            "price_date": keep("The day these prices were read.", "date"),
            "concurrency": keep("Requests at once, at most."),
            "timeout": keep("Seconds of silence after which a request was given up."),
            "context_tokens": keep("Context of the model; empty: unknown.", "tokens"),
        },
    ),
    Table(
        "experiments.PromptSet",
        "prompt_sets",
        "Prompts of one's own that the experiments and arms chose.",
        root="prompt set",
        path="",
        columns={
            "name": keep("Name on the bench."),
            "texts": keep("The texts, by the name of the prompt that each replaces."),
            "added_by": STAFF,
            "created_at": keep_moment("When they were uploaded."),
        },
    ),
    Table(
        "experiments.Experiment",
        "experiments",
        "Runs of the loop: one person's in one arm, or a baseline that a vote compares with.",
        root="experiment",
        path="",
        columns=SETTINGS
        | {
            "public_id": NAME,
            "name": keep_text("Name on the bench."),
            "prompts": keep("Prompts of one's own that it asked with: digest of the texts, name of the prompt, text."),
            "seed": keep("Everything random in the loop is drawn from it."),
            "status": keep("draft, running, waiting (for a person), failed, cancelled or finished.", arrives=stop_loop),
            "paused": keep("Whether an experimenter had paused it.", arrives=lambda paused: False),
            "error": keep_text("Why it stopped, where it failed."),
            "revision": keep("Revision of the method, whose flow it follows."),
            "flow_changed": keep("Whether it failed because its method's flow had changed."),
            "ends_early": keep(
                "Whether its flow was broken off, and the winner chosen among the rounds that were there."
            ),
            "winner": keep_link("The final policy that was chosen."),
            "overrides": keep("Fields of the training preset that were replaced (command line and tests only)."),
            "created_at": keep_moment("When the row was made."),
            "started_at": keep_moment("When the loop was started."),
            "finished_at": keep_moment("When it ended."),
            "retrains": keep_link("The candidate of another experiment whose reward, or policy, it trained again."),
            "owner": STAFF,
            "archived_at": keep_moment("When somebody took it off the list of experiments; empty: it is listed."),
        },
    ),
    Table(
        "experiments.Tag",
        "experiment_tags",
        "Words that staff gave experiments, to find them again.",
        root="experiment",
        path="experiment",
        columns={"experiment": keep_link(), "name": keep_text("The word.")},
    ),
    Table(
        "experiments.Iteration",
        "iterations",
        "Rounds: K candidates written, trained and judged.",
        root="experiment",
        path="experiment",
        columns={
            "experiment": keep_link(),
            "number": keep("Number of the round, from 1."),
            "best": keep_link("The candidate picked as best."),
            "worst": keep_link("The candidate picked as worst."),
            "reason": keep("The judge's reason, as the method was told it."),
            "tags": keep("Tags that were tapped as reasons."),
            "difference": keep("The describer's words on how this best differs from the one before."),
            "aside": keep("Whether it is of an earlier flow of the method, and was not come to again."),
            "started_at": keep_moment("Start of the round."),
            "finished_at": keep_moment("End of the round."),
        },
    ),
    Table(
        "experiments.Candidate",
        "candidates",
        "Reward functions, with what training under each gave. The code is in code/ too, the traces in traces/.",
        root="experiment",
        path="iteration__experiment",
        columns={
            "iteration": keep_link(),
            "index": keep("Number within its round, from 1."),
            "source": keep("The reward function (Python); empty where the policy learned it from answers."),
            "thought": keep("What the model wrote before the code, for methods that keep it."),
            "parent": keep_link("The candidate that it was derived from."),
            "status": keep("written, training, trained, failed, or aside: of an earlier flow of the method."),
            "reason": keep("Why it failed."),
            "trace": keep("Per reward component: samples over the training, mean, least and largest value."),
            "metric_trace": keep(
                "The same of the hidden metric, which participants and preference methods never see; of a program its "
                "subtasks and cases, of a written answer its final answer."
            ),
            "sessions": keep(
                "Where the policy learned its reward from answers about pairs: the figures of each session; also in "
                "preferences/."
            ),
            "rts": keep("Reward task score: the highest of the hidden metric over training.", "the task's metric"),
            "final_score": keep("The hidden metric at the end of training.", "the task's metric"),
            "evaluation": keep(
                "Of the final policy's mean actions, where it was evaluated: episodes, score (the metric) with its "
                "standard error, mean steps of an episode, share that terminated."
            ),
        },
    ),
    Table(
        "experiments.Request",
        "requests",
        "What the method asked for, step by step, and what it got: enough to replay the experiment exactly.",
        root="experiment",
        path="experiment",
        columns={
            "experiment": keep_link(),
            "step": keep("Step of the method, from 0."),
            "slot": keep("Place within a step of concurrent requests."),
            "kind": keep("Write, Train, Judge, Choose, Compare, Ask, Look, Perform or Rate (docs/architecture.md)."),
            "fingerprint": keep("SHA-256 of kind, payload and options."),
            "payload": keep("The request: prompts, candidates, seed."),
            "status": keep("open, done, failed, or aside: of an earlier flow of the method, and not taken over."),
            "version": keep("The version of Prefine that asked."),
            "revision": keep("Revision of the method, whose flow asked."),
            "folder": keep("Name of its training folder, where step and slot do not tell it."),
            "result": keep("Its answer."),
            "pooled": keep("How several people's choices became one, where a panel judged."),
            "error": keep("Why it failed."),
            "created_at": keep_moment("When it was asked."),
            "finished_at": keep_moment("When it was answered."),
        },
    ),
    Table(
        "experiments.Job",
        "jobs",
        "Work of the machines: how long each step took, and how often it was tried.",
        root="experiment",
        path="experiment",
        columns={
            "experiment": keep_link(),
            "request": keep_link(),
            "kind": keep("advance, write, ask, train, film or pairs."),
            "status": keep("queued, running, done, failed or cancelled.", arrives=end_job),
            "percent": keep("For films: how far into training; for pairs: the session.", "%"),
            "owner": leave_out("Names a machine."),
            "heartbeat": leave_out("Only of use while the job runs."),
            "attempt": keep("How often a worker took it."),
            "strikes": keep("Attempts in a row that ended badly."),
            "reached": keep("Fraction reached at the last of these."),
            "protocol": leave_out("Which versions of Prefine may do it."),
            "cancel": keep("Whether it was asked to stop."),
            "rung_at": leave_out("Only of use while the job waits."),
            "rings": leave_out("Only of use while the job waits."),
            "held_up_at": leave_out("Only of use while the job waits."),
            "progress": leave_out("Of use while the job runs; then it names a machine."),
            "estimates": keep(
                "What pages said about the time left of the round: [seconds after created_at, seconds left, 1 if an "
                "earlier estimate was too short, 2 if one of less than a minute was].",
                "s",
            ),
            "error": keep("Why it failed."),
            "created_at": keep_moment("When it was queued."),
            "started_at": keep_moment("When it was last taken."),
            "finished_at": keep_moment("When it ended."),
        },
    ),
    Table(
        "experiments.Run",
        "runs",
        "Training runs: what they cost.",
        root="experiment",
        path="request__experiment",
        columns={
            "request": keep_link(),
            "seconds": keep("Time of training.", "s"),
            "samples": keep("Control steps simulated, over all candidates."),
            "store_seconds": keep("Of this time, how long the training waited for the store.", "s"),
            "store_bytes": keep("What it uploaded to the store, checkpoints included.", "bytes"),
            "nan_worlds": keep("Worlds whose state went non-finite and were reset."),
            "task_revision": keep("Revision of the task; scores on different revisions do not compare."),
            "preset": keep("Values of the training settings with which it trained, by name; empty: not known."),
            "created_at": keep_moment("When it ended."),
        },
    ),
    Table(
        "experiments.Clip",
        "clips",
        "Films of candidates. The file of a clip is clips/<name>.mp4, its still clips/<name>.jpg.",
        root="experiment",
        path="candidate__iteration__experiment",
        columns={
            "candidate": keep_link(),
            "percent": keep("How far into training; 100 is the film that was judged.", "%"),
            "status": keep(
                "pending, ready or failed.", arrives=lambda status: "failed" if status == "pending" else status
            ),
            "name": NAME,
            "error": keep("Why it could not be filmed."),
            "created_at": keep_moment("When it was ordered."),
        },
    ),
    Table(
        "experiments.PairSession",
        "pair_sessions",
        "Points in a training at which pairs of segments were answered: by people, for whom it stopped, by a vision "
        "model, or by a simulated teacher, of whose pairs the first are here.",
        root="experiment",
        path="request__experiment",
        columns={
            "request": keep_link(),
            "number": keep("Number of the session, from 1."),
            "status": keep("filming, open or answered.", arrives=lambda status: "answered"),
            "created_at": keep_moment("When the training stopped."),
            "opened_at": keep_moment(
                "When its films were there, and people were asked; empty of a simulated teacher's."
            ),
            "answered_at": keep_moment("When the training went on."),
        },
    ),
    Table(
        "experiments.Segment",
        "segments",
        "Films of some seconds of a policy in training: clips/<name>.mp4, the still clips/<name>.jpg.",
        root="experiment",
        path="session__request__experiment",
        columns={
            "session": keep_link(),
            "number": keep("As in the trainer's files, from 0."),
            "status": keep(
                "pending, ready or failed.", arrives=lambda status: "failed" if status == "pending" else status
            ),
            "name": NAME,
            "error": keep("Why it could not be filmed."),
        },
    ),
    Table(
        "experiments.SegmentPair",
        "segment_pairs",
        "Pairs of segments, and what the policy learned of each.",
        root="experiment",
        path="session__request__experiment",
        columns={
            "session": keep_link(),
            "number": keep("Its place in the session, from 0."),
            "first": keep_link(),
            "second": keep_link(),
            "answer": keep("first, second, equal or skip; of several people's answers the majority's."),
        },
    ),
    Table(
        "experiments.ModelCall",
        "model_calls",
        "Answers of language models, with tokens, time and cost.",
        root="experiment",
        path="request__experiment",
        columns={
            "request": keep_link(),
            "model": keep("The model, as its endpoint named it."),
            "request_hash": keep("SHA-256 of what was asked."),
            "seed": keep("Seed that was asked for."),
            "data": keep("Messages sent, reply, reason of its end, fingerprint of the endpoint, usage."),
            "prompt_tokens": keep("Tokens read: as the endpoint counts, else estimated from the letters.", "tokens"),
            "completion_tokens": keep("Tokens written, counted or estimated in the same way.", "tokens"),
            "estimated": keep("Whether the tokens are estimated from the letters, not counted."),
            "latency": keep("From question to answer.", "s"),
            "cost": keep("By the price table; empty: unknown.", "US dollars"),
            "created_at": keep_moment("When the answer arrived."),
        },
    ),
    Table(
        "experiments.Event",
        "events",
        "What happened in the experiments, in order.",
        root="experiment",
        path="experiment",
        columns={
            "experiment": keep_link(),
            "kind": keep("started, written, clip, trained, judge, voted, picked, undone, finished and so on."),
            "public": keep("Whether the participant's page was told that something changed."),
            "text": keep_text("In words."),
            "payload": keep_text("Details, and the pseudonym of the only participant whose page was told."),
            "created_at": keep_moment("When it happened."),
        },
    ),
)
OMITTED: tuple[Omitted, ...] = (Omitted("experiments.Worker", "Processes and machines of this installation."),)
