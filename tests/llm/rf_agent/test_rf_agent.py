"""A whole recorded search, followed step by step with the pseudocode written down once more, on plain dictionaries."""

import math
import re
from itertools import groupby

import pytest

from llm.messages import format_trace
from llm.methods import METHODS
from llm.records import Ask, Candidate, Choose, Judge, Pick, Train, Write
from tests.llm.experiment import HIDDEN_SCORES, Experiment, prompts


def run(method="rf_agent", budget=30, k=6, **values):
    options = {"budget": budget, **values.pop("options", {})}
    experiment = Experiment(method=method, k=k, n=11, options=options, **values)
    experiment.winner = experiment.run()
    return experiment


@pytest.fixture(scope="module")
def finished_search():
    return run()


@pytest.fixture(scope="module")
def judged_search():
    return run("rf_agent_judged", budget=38)


def rounds(experiment):
    """[(request, result), ...] of each iteration, in order."""
    pairs = zip(experiment.requests, experiment.results, strict=True)
    return [list(group) for _, group in groupby(pairs, key=lambda pair: pair[0].iteration)]


def of(kind, pairs):
    return [(request, result) for request, result in pairs if isinstance(request, kind)]


def text(request):
    return request.messages[-1]["content"]


def outcomes(experiment):
    return {o.candidate.id: o for trained in experiment.got(Train) for o in trained}


# --- what is asked ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_round_asks_what_the_algorithm_says_in_its_order(finished_search):
    for number, pairs in enumerate(rounds(finished_search), 1):
        names = [type(request).__name__ for request, _ in pairs]
        writes = 1 if number == 1 else len(of(Write, pairs))
        children = 6 if number == 1 else 8
        assert names == ["Write"] * writes + ["Train"] + ["Ask"] * 2 * children
        asked = [text(request) for request, _ in of(Ask, pairs)]
        assert all("# Now: restate the thought" in t for t in asked[:children])
        assert all("# Now: verify" in t for t in asked[children:])


@pytest.mark.slow
def test_the_budget_ends_it_and_cuts_the_last_expansion():
    for budget, sizes in ((30, [6, 8, 8, 8]), (20, [6, 8, 6]), (7, [6, 1]), (4, [4])):
        experiment = run(budget=budget)
        assert [len(r.candidates) for r in experiment.of(Train)] == sizes
        assert sum(r.count for r in experiment.of(Write)) == budget


def test_eight_children_by_five_kinds_of_action(finished_search):
    for pairs in rounds(finished_search)[1:]:
        moves = []
        for request, written in of(Write, pairs):
            moves += re.findall(r"^# Now: (.+)$", text(request), re.MULTILINE) * request.count
            first = request.first
            assert [c.id for c in written] == [f"{request.iteration}-{first + i}" for i in range(request.count)]
        assert moves == (
            ["another structure"] * 2
            + ["other parameters"] * 2
            + ["cross over"] * 2
            + ["think along the path"]
            + ["a different form"]
        )
        assert [c.id for c in of(Train, pairs)[0][0].candidates] == [
            f"{pairs[0][0].iteration}-{i}" for i in range(1, 9)
        ]


def test_the_best_score_wins(finished_search):
    assert finished_search.winner == max(outcomes(finished_search).values(), key=lambda o: o.rts).candidate.id


# --- the search, once more ----------------------------------------------------------------------------------------


class Pseudocode:
    """Selection and backup of the paper, over ids."""

    def __init__(self, budget):
        self.budget, self.spent = budget, 0
        self.children, self.above = {"root": []}, {}
        self.q, self.n, self.v = {"root": 0.0}, {"root": 1}, {}

    def select(self):
        lam = 0.4 * (1 - self.spent / self.budget)
        real = [q for name, q in self.q.items() if name != "root"]
        node = "root"
        while self.children[node]:
            z = sum(math.exp(self.v[c]) for c in self.children[node])
            node = max(
                self.children[node],
                key=lambda c, node=node, z=z: (
                    (self.q[c] - min(real)) / (max(real) - min(real))
                    + lam * (math.sqrt(2 * math.log(self.n[node] + 1) / self.n[c]) + math.exp(self.v[c]) / z)
                ),
            )
        return node

    def add(self, parent, scores, ratings):
        for name, score in scores.items():
            self.children[parent].append(name)
            self.children[name], self.above[name] = [], parent
            self.q[name], self.n[name], self.v[name] = score, 1, ratings[name]
        while parent is not None:
            self.n[parent] = sum(self.n[c] for c in self.children[parent])
            self.q[parent] = 0.3 * self.q[parent] + 0.7 * max(self.q[c] for c in self.children[parent])
            parent = self.above.get(parent)
        self.spent += len(scores)


def ratings_of(pairs):
    """Candidate id -> the number at the end of its verification."""
    ids = [o.candidate.id for o in of(Train, pairs)[0][1] if o.ok]
    answers = [said for request, said in of(Ask, pairs) if "# Now: verify" in text(request)]
    found = [float(said.rpartition("Rating: ")[2]) for said in answers]
    return dict(zip(ids, found or [0.0] * len(ids), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (8, 9))])
def test_every_parent_is_the_one_the_pseudocode_selects(seed):
    experiment = run(budget=54, seed=seed)
    paper = Pseudocode(54)
    depths = set()
    for pairs in rounds(experiment):
        parent = paper.select()
        assert {request.parent for request, _ in of(Write, pairs)} == {None if parent == "root" else parent}
        scores = {o.candidate.id: o.rts for o in of(Train, pairs)[0][1]}
        paper.add(parent, scores, ratings_of(pairs))
        depths.add(0 if parent == "root" else 1 if paper.above[parent] == "root" else 2)
    assert depths == {0, 1, 2}  # the test has seen the search go down


@pytest.mark.slow
@pytest.mark.parametrize("search", ["dfs", "bfs", "greedy"])
def test_the_other_searches_only_select_otherwise(search, finished_search):
    experiment = run(budget=30, options={"search": search})
    scores = {name: o.rts for name, o in outcomes(experiment).items()}
    parents = [r.parent for r in experiment.of(Train) for r in r.candidates[:1]][1:]
    first = [f"1-{i}" for i in range(1, 7)]
    best = max(first, key=scores.get)
    assert parents[0] == ("1-1" if search == "bfs" else best)
    second = [f"2-{i}" for i in range(1, 9)]
    leaves = {"bfs": ["1-2"], "dfs": second, "greedy": [n for n in first + second if n != best]}[search]
    assert parents[1] == max(leaves, key=scores.get)
    assert prompts(experiment)[0] == prompts(finished_search)[0]


# --- what the prompts hold ----------------------------------------------------------------------------------------


def shown(prompt):
    """Heading -> section of the nodes in a prompt."""
    parts = re.split(r"^# ", prompt, flags=re.MULTILINE)
    titles = ("Parent", "Elite", "Reward function on", "Reward function of")
    return {p.splitlines()[0]: p for p in parts if p.startswith(titles)}


def thoughts(experiment):
    """Candidate id -> the restated thought."""
    found = {}
    for pairs in rounds(experiment):
        ids = [o.candidate.id for o in of(Train, pairs)[0][1] if o.ok]
        answers = [said for request, said in of(Ask, pairs) if "restate" in text(request)]
        found.update(zip(ids, answers, strict=True))
    return found


def test_the_first_prompt_has_the_problem_and_asks_for_a_thought_first(finished_search):
    (first,) = (request for request, _ in of(Write, rounds(finished_search)[0]))
    prompt = text(first)
    assert finished_search.problem.description in prompt and "- `dt`: float" in prompt
    assert "Before the code, write your design thought" in prompt and "Reward trace" not in prompt
    assert first.thought and first.count == 6 and first.parent is None


def test_each_action_shows_its_nodes_with_thought_code_trace_and_score(finished_search):
    everyone, restated = outcomes(finished_search), thoughts(finished_search)
    sources = {o.candidate.source.strip(): name for name, o in everyone.items()}
    assert len(sources) == len(everyone)
    for pairs in rounds(finished_search)[1:]:
        for request, _ in of(Write, pairs):
            nodes = shown(text(request))
            move = re.search(r"^# Now: (.+)$", text(request), re.MULTILINE)[1]
            for section in nodes.values():
                name = sources[re.search(r"```python\n(.*?)\n```", section, re.DOTALL)[1]]
                assert restated[name] in section
                assert f"Task score: {everyone[name].rts:.4g} (more is better)" in section
                assert format_trace({"task_score": everyone[name].metric_trace}) in section
            titles = list(nodes)
            assert titles.count("Parent reward function") == 1
            if move in ("another structure", "other parameters"):
                assert len(nodes) == 1
            elif move == "cross over":
                assert 2 <= len(nodes) <= 4 and all(t.startswith(("Parent", "Elite")) for t in titles)
            elif move == "think along the path":
                assert titles[-1] == "Parent reward function" and len(nodes) <= 4
            else:
                assert 2 <= len(nodes) <= 4 and all(t.startswith(("Parent", "Reward function of")) for t in titles)


@pytest.mark.slow
def test_nodes_along_the_path_are_the_parents_own_ancestors():
    experiment = run(budget=54)
    everyone = outcomes(experiment)
    above = {o.candidate.id: o.candidate.parent for o in everyone.values()}
    sources = {o.candidate.source.strip(): name for name, o in everyone.items()}
    lengths = set()
    for request in experiment.of(Write):
        if "think along the path" not in text(request):
            continue
        names = [
            sources[code]
            for code in re.findall(r"```python\n(def compute_reward\(\n.*?)\n```", text(request), re.DOTALL)
        ]
        names = [name for name in names if name in above]
        assert [above[name] for name in names[1:]] == names[:-1] and names[-1] == request.parent
        lengths.add(len(names))
    assert 2 in lengths


def test_alignment_and_verification_see_thought_and_code_and_neither_score_nor_trace(finished_search):
    for request in finished_search.of(Ask):
        assert "score" not in text(request).lower() and "trace" not in text(request).lower()
        assert not [s for s in HIDDEN_SCORES if f"{s:.4g}" in text(request)]


# --- ablations change what they say, and nothing else -------------------------------------------------------------


@pytest.mark.slow
def test_without_self_verify_nothing_is_rated_and_ratings_count_nothing(finished_search):
    experiment = run(options={"self_verify": False})
    assert not [r for r in experiment.of(Ask) if "# Now: verify" in text(r)]
    assert len(experiment.of(Ask)) == len(finished_search.of(Ask)) // 2
    paper = Pseudocode(30)
    for pairs in rounds(experiment):
        parent = paper.select()
        assert {r.parent for r, _ in of(Write, pairs)} == {None if parent == "root" else parent}
        paper.add(parent, {o.candidate.id: o.rts for o in of(Train, pairs)[0][1]}, ratings_of(pairs))


@pytest.mark.slow
def test_without_thought_align_the_first_thought_stays(finished_search):
    experiment = run(options={"thought_align": False})
    assert not [r for r in experiment.of(Ask) if "restate" in text(r)]
    written = {c.source.strip(): c.thought for got in experiment.got(Write) for c in got}
    for request in experiment.of(Write)[1:]:
        for section in shown(text(request)).values():
            code = re.search(r"```python\n(.*?)\n```", section, re.DOTALL)[1]
            assert written[code] and written[code] in section


@pytest.mark.slow
def test_without_design_thought_none_is_asked_for(finished_search):
    experiment = run(options={"design_thought": False})
    assert not [r for r in experiment.of(Write) if r.thought or "design thought" in text(r).split("# Now")[-1]]
    assert all("Design thought:" in text(r) for r in experiment.of(Write)[1:])  # the aligned one remains
    without_all = run(options={"design_thought": False, "thought_align": False})
    assert not [r for r in without_all.of(Write) if "thought" in text(r).lower()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "actions, moves",
    [
        ("none", []),
        ("mutation", ["another structure", "other parameters"]),
        ("mutation+crossover", ["another structure", "other parameters", "cross over"]),
        ("mutation+reasoning", ["another structure", "other parameters", "think along the path"]),
        ("crossover+reasoning", ["cross over", "think along the path"]),
        (
            "mutation+crossover+reasoning",
            ["another structure", "other parameters", "cross over", "think along the path"],
        ),
    ],
)
def test_action_sets(actions, moves):
    experiment = run(budget=20, options={"actions": actions})
    used = {m for r in experiment.of(Write) for m in re.findall(r"^# Now: (.+)$", text(r), re.MULTILINE)}
    assert used == {"improve the parent", *moves}
    assert [len(r.candidates) for r in experiment.of(Train)] == [6, 8, 6], "as many children as with all actions"
    plain = [r for r in experiment.of(Write) if "# Now: improve the parent" in text(r)]
    assert all(text(r).count("Parent reward function") == 1 for r in plain)
    assert not [
        r for r in plain if re.search("# (Elite reward function|Reward function (on the path|of another))", text(r))
    ]


@pytest.mark.slow
def test_its_writing_tips_are_those_of_the_paper():
    """A bonus for the goal, no contradictory terms; no other method has them."""
    for request in run(budget=14).of(Write):
        assert "pay a bonus for reaching it" in text(request) and "want opposite things" in text(request)
    other = Experiment(method="eureka", k=2, n=2)
    other.run()
    assert not [r for r in other.of(Write) if "bonus" in text(r)]


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_a_search_of_512_candidates_ends():
    """The budget of the paper's two-handed tasks: 64 expansions of one tree."""
    experiment = run(budget=512)
    assert sum(len(r.candidates) for r in experiment.of(Train)) == 512
    assert METHODS["rf_agent"].rounds_of(6, 11, {"budget": 512}) == len(experiment.of(Train)) == 65


# --- a judge as the value -----------------------------------------------------------------------------------------


def first_and_last(request):
    ids = [o.candidate.id for o in request.outcomes]
    return ids[0] if isinstance(request, Choose) else Pick(ids[0], ids[-1], "it stumbles")


@pytest.mark.slow
def test_the_incumbent_is_judged_again_and_the_last_one_wins(judged_search):
    asked, picks = judged_search.of(Judge), judged_search.got(Judge)
    assert [len(r.outcomes) for r in asked] == [6, 9, 9, 9, 9]
    for before, request in zip(picks, asked[1:], strict=False):
        assert request.outcomes[-1].candidate.id == before.best
    assert judged_search.winner == picks[-1].best
    assert judged_search.winner == max(outcomes(judged_search).values(), key=lambda o: o.rts).candidate.id
    assert not judged_search.of(Choose)


@pytest.mark.slow
def test_a_node_says_how_it_was_judged_and_what_was_said():
    experiment = run("rf_agent_judged", budget=14, judge=first_and_last)
    prompt = text(experiment.of(Write)[1])
    assert "Judged best of itself and 5 others in round 1." in shown(prompt)["Parent reward function"]
    assert "it stumbles" in prompt
    silent = run("rf_agent_judged", budget=14, judge=first_and_last, options={"reasons": False})
    assert "stumbles" not in "".join(prompts(silent))


# --- small parts --------------------------------------------------------------------------------------------------


def test_an_outcome_keeps_its_thought_through_saving(finished_search):
    written = [c for got in finished_search.got(Write) for c in got]
    assert all(isinstance(c, Candidate) and c.thought for c in written)
    trained = outcomes(finished_search)
    assert all(trained[c.id].candidate.thought == c.thought for c in written)
