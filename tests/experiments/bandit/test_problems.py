"""The six problems against their raw rows, read here a second time and by brute force."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from pacbound.data.cache import is_cached
from pacbound.data.entry import CanonicalFile
from pacbound.errors import PacboundError
from pacbound.experiments.bandit.problems import load_problem, problem_files, problem_names
from pacbound.experiments.bandit.problems.entry import RawEntry

# What the literature plays: context size, arms, steps, and what the best fixed arm loses in per
# cent of uniform play. It varies with the seed where rows are drawn, rewards are random or jokes
# are chosen; Financial's varies with its portfolios, so nobody quotes it.
REAL = {
    "mushroom": (117, 2, 50_000, 52.7, 2.0),
    "statlog": (9, 7, 43_500, 25.2, 0.05),
    "covertype": (54, 7, 50_000, 59.8, 1.0),
    "financial": (21, 8, 3_713, None, None),
    "jester": (32, 8, 19_181, 68.3, 8.0),
    "adult": (94, 14, 45_222, 93.4, 0.05),
}


def mushroom_files(rng):
    """Thirty mushrooms that all differ; some attributes are unknown, one never varies."""
    rows = {tuple(rng.choice(list("abc?"), 22)) for _ in range(30)}
    lines = [[str(rng.choice(["e", "p"])), *row[:21], "v"] for row in sorted(rows)]
    return {"agaricus-lepiota.data": "".join(",".join(line) + "\n" for line in lines)}


def statlog_files(rng):
    """Sixty rows; the fourth column never varies, and its mean is not a binary fraction."""
    table = np.column_stack([rng.integers(-50, 100, (60, 9)), rng.integers(1, 8, 60)])
    table[:, 3] = 7
    return {"shuttle.trn": "".join(" ".join(map(str, row)) + "\n" for row in table)}


def covertype_files(rng):
    table = np.column_stack([rng.integers(0, 3000, (80, 54)), rng.integers(1, 8, 80)])
    return {"covtype.data": "".join(",".join(map(str, row)) + "\n" for row in table)}


def financial_files(rng):
    days = rng.normal(size=(4000, 21))
    lines = [" ".join(f"{value:.18e}" for value in day) for day in days]
    return {"raw_stock_contexts": "\n".join([",".join(["SHARE"] * 21), *lines, ""])}


def jester_files(rng):
    """Sixty users; forty jokes, scattered, that most have rated, and the others few."""
    ratings = np.round(rng.uniform(-10, 10, (60, 100)), 2)
    popular = rng.permutation(100)[:40]
    chance = np.full(100, 0.3)
    chance[popular] = 0.99
    ratings[rng.random(ratings.shape) > chance] = 99
    counts = (ratings != 99).sum(1)
    text = "".join(
        ",".join([str(count), *(f"{rating:g}" for rating in row)]) + "\n"
        for count, row in zip(counts, ratings, strict=True)
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("jester-data-1.csv", text)
    return {"jester-data-1.zip": packed.getvalue()}


def adult_files(rng):
    """Forms in two files, some with gaps; in the second file incomes end with a full stop."""
    words = {1: "WX", 3: "ABC", 5: "MN", 6: "IJKL?", 7: "PQ", 8: "RS", 9: "FG", 13: "UV?"}

    def form(stop):
        fields = [str(rng.integers(10, 99)) for _ in range(15)]
        for column, choices in words.items():
            fields[column] = str(rng.choice(list(choices)))
        fields[14] = str(rng.choice(["<=50K", ">50K"])) + stop
        return ", ".join(fields) + "\n"

    first = "".join(form("") for _ in range(70)) + "\n"
    second = "|1x3 Cross validator\n" + "".join(form(".") for _ in range(40)) + "\n"
    return {"adult.data": first, "adult.test": second}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Put a small made problem into a cache of its own, and give its files' text."""
    monkeypatch.setenv("PACBOUND_DATA", str(tmp_path / "cache"))

    def make(name):
        texts = globals()[f"{name}_files"](np.random.default_rng(0))
        files = []
        for file, text in texts.items():
            content = text if isinstance(text, bytes) else text.encode()
            path = tmp_path / "cache" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files.append(CanonicalFile(file, len(content), hashlib.sha256(content).hexdigest()))
        monkeypatch.setitem(problem_files(), name, RawEntry(name, "made", 0, tuple(files), ()))
        return texts

    return make


def same(one, other):
    return (
        np.array_equal(one.contexts, other.contexts)
        and np.array_equal(one.rewards, other.rewards)
        and np.array_equal(one.optimal, other.optimal)
    )


def test_every_problem_has_files_and_every_file_a_problem():
    assert set(problem_names()) == set(problem_files()) == set(REAL)


@pytest.mark.parametrize("name", REAL)
def test_the_seed_alone_fixes_the_stream(made, name):
    made(name)
    first = load_problem(name, seed=3)
    assert first.name == name
    assert same(first, load_problem(name, seed=3))
    other = load_problem(name, seed=4)
    assert other.contexts.shape == first.contexts.shape
    assert not same(first, other)


@pytest.mark.parametrize("name", REAL)
def test_fewer_steps_are_the_beginning_of_the_same_stream(made, name):
    made(name)
    whole, short = load_problem(name, seed=1), load_problem(name, seed=1, steps=17)
    assert short.steps == 17
    assert np.array_equal(short.contexts, whole.contexts[:17])
    assert np.array_equal(short.rewards, whole.rewards[:17])
    assert np.array_equal(short.optimal, whole.optimal[:17])
    assert same(whole, load_problem(name, seed=1, steps=whole.steps))
    for steps in (0, -1, whole.steps + 1):
        with pytest.raises(
            PacboundError, match=f"{name} has 1 to {whole.steps} steps, not {steps}"
        ):
            load_problem(name, seed=1, steps=steps)


def test_mushroom_pays_by_its_law(made):
    rows = [line.split(",") for line in made("mushroom")["agaricus-lepiota.data"].split()]
    # Each row's indicators, spelt out: attribute by attribute, categories in order.
    categories = [sorted({row[column] for row in rows}) for column in range(1, 23)]
    assert ["v"] in categories and any("?" in names for names in categories)
    edible = {
        tuple(
            float(row[column] == category)
            for column, names in enumerate(categories, 1)
            for category in names
        ): row[0] == "e"
        for row in rows
    }
    problem = load_problem("mushroom", seed=0)
    assert (problem.steps, problem.arms) == (50_000, 2)
    drawn, eaten = Counter(), Counter()
    for context, (passed, ate), optimum in zip(
        problem.contexts.tolist(), problem.rewards.tolist(), problem.optimal, strict=True
    ):
        row = tuple(context)
        assert passed == 0
        assert (ate, optimum) == (5, 5) if edible[row] else ate in (5, -35) and optimum == 0
        drawn[row] += 1
        eaten[row] += ate == -35
    expected = 50_000 / len(rows)
    for row, good in edible.items():
        assert abs(drawn[row] - expected) < 6 * np.sqrt(expected)
        # The harm is drawn at every step, also for the same mushroom.
        if not good:
            assert abs(eaten[row] - drawn[row] / 2) < 6 * np.sqrt(drawn[row] / 4)


def scored(table):
    """z-scores in plain arithmetic, column by column."""
    columns = []
    for column in np.array(table, float).T:
        mean = sum(column) / len(column)
        deviation = np.sqrt(sum((column - mean) ** 2) / len(column))
        columns.append((column - mean) / (deviation if len(set(column)) > 1 else 1))
    return np.array(columns).T


def assert_same_rows(problem, contexts, labels):
    """The stream is these rows in some order, and pays 1 for the row's label alone."""
    assert np.array_equal(problem.optimal, np.ones(problem.steps))
    assert set(np.unique(problem.rewards)) == {0, 1}
    assert np.array_equal(problem.rewards.sum(1), np.ones(problem.steps))
    assert problem.contexts.shape == contexts.shape
    taken = set()
    for context, reward in zip(problem.contexts, problem.rewards, strict=True):
        distances = np.abs(contexts - context).max(1)
        row = int(distances.argmin())
        assert distances[row] < 1e-5
        assert reward.argmax() == labels[row]
        taken.add(row)
    assert len(taken) == len(contexts)


def test_statlog_is_every_row_once(made):
    lines = made("statlog")["shuttle.trn"].splitlines()
    table = [[int(field) for field in line.split()] for line in lines]
    problem = load_problem("statlog", seed=0)
    assert problem.arms == 7
    assert_same_rows(problem, scored([row[:9] for row in table]), [row[9] - 1 for row in table])
    assert not problem.contexts[:, 3].any()  # the constant column
    others = np.delete(problem.contexts, 3, axis=1).astype(np.float64)
    assert np.allclose(others.mean(0), 0, atol=1e-6) and np.allclose(others.std(0), 1, atol=1e-6)


def test_covertype_is_scored_by_the_rows_it_plays(made, monkeypatch):
    lines = made("covertype")["covtype.data"].splitlines()
    table = [[int(field) for field in line.split(",")] for line in lines]
    problem = load_problem("covertype", seed=0)
    assert problem.arms == 7
    assert_same_rows(problem, scored([row[:54] for row in table]), [row[54] - 1 for row in table])
    monkeypatch.setattr("pacbound.experiments.bandit.problems.covertype._STEPS", 30)
    fewer = load_problem("covertype", seed=0)
    assert fewer.steps == 30
    assert np.array_equal(fewer.rewards, problem.rewards[:30])  # the same order
    assert np.allclose(fewer.contexts.mean(0, dtype=np.float64), 0, atol=1e-6)
    assert np.allclose(fewer.contexts.std(0, dtype=np.float64), 1, atol=1e-6)


def test_financial_is_linear_with_growing_noise(made):
    lines = made("financial")["raw_stock_contexts"].splitlines()[1:]
    days = np.array([[float(field) for field in line.split()] for line in lines])
    found = []
    for seed in (0, 1):
        problem = load_problem("financial", seed=seed)
        assert problem.arms == 8
        raw = np.sort(days.astype(np.float32), 0)
        assert np.array_equal(np.sort(problem.contexts, 0), raw)
        # A regression finds the hidden portfolios, so near that only the noise is left.
        contexts = problem.contexts.astype(np.float64)
        portfolios = np.linalg.lstsq(contexts, problem.rewards.astype(np.float64), rcond=None)[0]
        assert np.allclose(np.linalg.norm(portfolios, axis=0), 1, atol=0.01)
        noise = problem.rewards - contexts @ portfolios
        assert np.allclose(noise.std(0), 0.01 * np.arange(1, 9), rtol=0.06)
        assert np.allclose(problem.optimal, (contexts @ portfolios).max(1), atol=0.05)
        assert abs((problem.optimal - (contexts @ portfolios).max(1)).mean()) < 0.005
        found.append(portfolios)
    assert np.abs(found[0] - found[1]).max() > 0.1


def test_jester_pays_the_rating_of_the_joke(made):
    packed = made("jester")["jester-data-1.zip"]
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        lines = archive.read("jester-data-1.csv").decode().split()
    users = [[float(field) for field in line.split(",")[1:]] for line in lines]
    rated = {joke: sum(user[joke] != 99 for user in users) for joke in range(100)}
    jokes = sorted(rated, key=rated.get)[-40:]
    complete = [[user[j] for j in jokes] for user in users if all(user[j] != 99 for j in jokes)]
    assert 0 < len(complete) < len(users)
    orders = set()
    for seed in (0, 1):
        problem = load_problem("jester", seed=seed)
        assert problem.contexts.shape == (len(complete), 32)
        assert problem.arms == 8
        assert np.array_equal(problem.optimal, [max(row) for row in problem.rewards.tolist()])
        stream = np.hstack([problem.contexts, problem.rewards])
        table = np.array(complete, np.float32)
        # Each of the stream's columns is one joke, whatever the order of users and jokes.
        by_column = {tuple(np.sort(column)): joke for joke, column in enumerate(table.T)}
        order = [by_column[tuple(np.sort(column))] for column in stream.T]
        assert sorted(order) == list(range(40))
        assert {tuple(row) for row in stream} == {tuple(row) for row in table[:, order]}
        orders.add(tuple(order))
    assert len(orders) == 2  # another seed, other jokes to choose from


def test_adult_is_every_complete_form_once(made):
    texts = made("adult")
    lines = (texts["adult.data"] + texts["adult.test"]).splitlines()
    forms = [line.split(", ") for line in lines if line and not line.startswith("|")]
    forms = [form for form in forms if "?" not in form]
    assert 0 < len(forms) < 110
    columns = [[float(form[column]) for form in forms] for column in (0, 2, 4, 10, 11, 12)]
    for column in (1, 3, 5, 7, 8, 9, 13, 14):
        for category in sorted({form[column] for form in forms}):
            columns.append([float(form[column] == category) for form in forms])
    incomes = {form[14] for form in forms}
    assert incomes == {"<=50K", ">50K", "<=50K.", ">50K."}
    occupations = sorted({form[6] for form in forms})
    problem = load_problem("adult", seed=0)
    assert problem.arms == len(occupations) == 4
    labels = [occupations.index(form[6]) for form in forms]
    assert_same_rows(problem, scored(np.array(columns).T), labels)


def best_fixed_arm(problem):
    lost = problem.optimal.sum() - problem.rewards.sum(0, dtype=np.float64)
    return float(problem.normalized(float(lost.min())))


@pytest.mark.parametrize("name", REAL)
def test_the_real_problem(name):
    if not is_cached(problem_files()[name]):
        pytest.skip(f"needs {name} in the cache: pacbound data get {name}")
    size, arms, steps, level, margin = REAL[name]
    problem = load_problem(name, seed=0)
    assert problem.contexts.shape == (steps, size)
    assert problem.rewards.shape == (steps, arms)
    if level is not None:
        assert abs(best_fixed_arm(problem) - level) < margin
    if name in ("statlog", "covertype", "adult"):
        contexts = problem.contexts.astype(np.float64)
        assert np.allclose(contexts.mean(0), 0, atol=1e-5)
        varied = contexts.std(0)[contexts.std(0) > 0]
        assert np.allclose(varied, 1, atol=1e-5)
        assert len(varied) >= size - 2  # a rare kind of soil may be missing from the sample
    if name == "mushroom":
        assert np.array_equal(problem.contexts.sum(1), np.full(steps, 22))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mushrom", "unknown bandit problem 'mushrom'; did you mean 'mushroom'"),
        ("missing.npz", "no file missing.npz; give an .npz file or one of: mushroom"),
        ("./mushroom", "no file ./mushroom"),
    ],
)
def test_a_name_that_is_none(tmp_path, monkeypatch, name, complaint):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PacboundError, match=complaint):
        load_problem(name)


def test_a_negative_seed_is_refused(made):
    made("statlog")
    with pytest.raises(PacboundError, match="seed of a problem must be 0 or more, not -1"):
        load_problem("statlog", seed=-1)


CONTEXTS = np.arange(12.0).reshape(6, 2)
REWARDS = np.array([[0, 1, 2], [2, 1, 0], [0, 3, 0], [1, 1, 1], [5, 4, 3], [0.1, 0.2, 0.3]])


def save(folder, **arrays):
    path = folder / "mine.npz"
    np.savez(path, **arrays)
    return str(path)


def rows_of(problem):
    """Where each step stands in the file: contexts are z-scores of 0, 2, …, 10."""
    values = np.arange(0, 12, 2)
    rows = (problem.contexts[:, 0] * values.std() + values.mean()) / 2
    assert np.allclose(rows, rows.round(), atol=1e-5)
    return rows.round().astype(int)


def test_a_problem_of_ones_own(tmp_path):
    path = save(tmp_path, contexts=CONTEXTS, rewards=REWARDS)
    problem = load_problem(path, seed=0)
    assert (problem.name, problem.steps, problem.arms) == ("mine", 6, 3)
    rows = rows_of(problem)
    assert sorted(rows) == list(range(6))
    assert np.allclose(problem.contexts, stats.zscore(CONTEXTS)[rows])
    assert np.array_equal(problem.rewards, REWARDS[rows].astype(np.float32))
    assert np.array_equal(problem.optimal, problem.rewards.max(1))
    assert same(problem, load_problem(path, seed=0))
    assert len({load_problem(path, seed=seed).contexts.tobytes() for seed in range(10)}) > 5
    assert np.array_equal(load_problem(path, seed=0, steps=2).contexts, problem.contexts[:2])


def test_an_optimum_of_ones_own_goes_with_its_row(tmp_path):
    optimal = np.arange(6) + 10
    path = save(tmp_path, contexts=CONTEXTS.astype(int), rewards=REWARDS, optimal=optimal)
    problem = load_problem(path, seed=0)
    assert np.array_equal(problem.optimal, rows_of(problem) + 10)


def spoilt(array, value):
    copy = array.astype(float)
    copy[2, 1] = value
    return copy


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"contexts": CONTEXTS}, "no array 'rewards'"),
        ({"rewards": REWARDS}, "no array 'contexts'"),
        ({"contexts": CONTEXTS[:, 0], "rewards": REWARDS}, r"contexts has shape \(6,\)"),
        ({"contexts": CONTEXTS[:0], "rewards": REWARDS[:0]}, r"contexts has shape \(0, 2\)"),
        ({"contexts": CONTEXTS, "rewards": REWARDS[:, 0]}, r"rewards has shape \(6,\)"),
        ({"contexts": CONTEXTS, "rewards": REWARDS[:, :1]}, "rewards has a single column"),
        ({"contexts": CONTEXTS, "rewards": REWARDS[:5]}, "contexts has 6 rows and rewards 5"),
        ({"contexts": spoilt(CONTEXTS, np.nan), "rewards": REWARDS}, r"contexts\[2, 1\] is nan"),
        ({"contexts": CONTEXTS, "rewards": spoilt(REWARDS, np.inf)}, r"rewards\[2, 1\] is inf"),
        ({"contexts": CONTEXTS, "rewards": spoilt(REWARDS, 1e300)}, r"rewards\[2, 1\] is 1e\+300"),
        ({"contexts": CONTEXTS + 1j, "rewards": REWARDS}, "contexts is complex128; give numbers"),
        ({"contexts": CONTEXTS.astype(str), "rewards": REWARDS}, "contexts is <U"),
        (
            {"contexts": CONTEXTS, "rewards": REWARDS, "optimal": REWARDS},
            r"optimal has shape \(6, 3\)",
        ),
        (
            {"contexts": CONTEXTS, "rewards": REWARDS, "optimal": np.ones(5)},
            "contexts has 6 rows and optimal 5",
        ),
        (
            {"contexts": CONTEXTS, "rewards": REWARDS, "optimal": np.full(6, np.nan)},
            r"optimal\[0\] is nan",
        ),
        ({"contexts": CONTEXTS, "rewards": np.ones((6, 3))}, "nothing to learn"),
        ({"contexts": np.array([{}] * 6, object), "rewards": REWARDS}, "cannot read"),
    ],
)
def test_a_file_that_is_no_problem_is_refused_in_one_line(tmp_path, arrays, complaint):
    with pytest.raises(PacboundError, match=complaint) as refusal:
        load_problem(save(tmp_path, **arrays))
    assert "\n" not in str(refusal.value)
    assert "mine.npz" in str(refusal.value)


def test_every_truncation_of_a_file_is_refused(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, contexts=CONTEXTS, rewards=REWARDS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 11):
        path.write_bytes(whole[:length])
        with pytest.raises(PacboundError, match=r"mine\.npz"):
            load_problem(str(path))
