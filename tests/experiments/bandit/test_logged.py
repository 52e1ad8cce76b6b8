"""Off-policy evaluation: limits that hold as often as they say, on logs with known values."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pacbound.errors import PacboundError
from pacbound.experiments.bandit.agents import AGENTS, Agent
from pacbound.experiments.bandit.logged import Log, Plan, evaluate, read_log
from pacbound.experiments.bandit.logged.estimates import (
    Estimate,
    Weighted,
    improvement_of,
    of_replay,
    refuse_disjoint,
    value_of,
)
from pacbound.experiments.bandit.logged.limits import MOST, average_lower_limit, mean_lower_limit
from pacbound.experiments.bandit.logged.propensities import refuse_wrong_propensities
from pacbound.experiments.bandit.settings import AgentSettings

LOGS = 400
DELTA = 0.1
# Misses of this many limits in LOGS logs have a probability of 1e-6 if the limits are valid.
MOST_MISSES = int(stats.binom.ppf(1 - 1e-6, LOGS, DELTA))

CHANCES = np.array([[0.2, 0.6, 0.5], [0.9, 0.1, 0.4]])  # of a reward of 1, by context and arm
LOGGING = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
POLICY = np.array([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
VALUE = float((POLICY * CHANCES).sum(1).mean())
LOGGED = float((LOGGING * CHANCES).sum(1).mean())


def logged(
    generator: np.random.Generator,
    rows: int,
    model: np.ndarray | None,
    floor: float | None = None,
    later: np.ndarray | None = None,
) -> Weighted:
    """A log of LOGGING; its second half of another policy, if `later` is given."""
    contexts = generator.integers(2, size=rows)
    chances = LOGGING[contexts]
    if later is not None:
        chances[rows // 2 :] = later[contexts[rows // 2 :]]
    actions = (generator.random(rows)[:, None] > chances.cumsum(1)).sum(1)
    rewards = (generator.random(rows) < CHANCES[contexts, actions]).astype(np.float64)
    # Arms drawn a few times per row in the place of their probabilities, as for an agent.
    drawn = generator.multinomial(3, POLICY[contexts]) / 3
    weighted = Weighted(drawn, actions, rewards, chances[np.arange(rows), actions])
    if model is None:
        return weighted
    least = float(LOGGING.min())
    return replace(weighted, model=model[contexts], floor=floor or 1 / least, least=least)


@pytest.mark.parametrize("improvement", [False, True])
@pytest.mark.parametrize(
    ("model", "floor"),
    [(None, None), (CHANCES, None), (1 - CHANCES, None), (CHANCES, 2.0), (1 - CHANCES, 2.0)],
    ids=["ips", "dr", "wrong model", "reduced", "wrong and reduced"],
)
def test_limits_of_weighted_rewards_hold(
    model: np.ndarray | None, floor: float | None, improvement: bool
) -> None:
    generator = np.random.default_rng(0)
    limits_of = improvement_of if improvement else value_of
    found = [limits_of(logged(generator, 300, model, floor), DELTA) for _ in range(LOGS)]
    true = VALUE - LOGGED if improvement else VALUE
    assert sum(not one.lower <= true <= one.upper for one in found) <= MOST_MISSES
    estimates = np.array([one.estimate for one in found])
    error = estimates.std() / np.sqrt(LOGS)
    assert abs(estimates.mean() - true) < 5 * error  # unbiased, with a wrong model too
    # not vacuous
    assert np.mean([one.upper - one.lower for one in found]) < 0.75 * (2 if improvement else 1)


@pytest.mark.parametrize("model", [None, CHANCES], ids=["ips", "dr"])
def test_limits_hold_when_the_logging_policy_learns(model: np.ndarray | None) -> None:
    """It becomes better than the policy: a value that does not move, an improvement that does."""
    generator = np.random.default_rng(7)
    later = np.array([[0.1, 0.8, 0.1], [0.8, 0.1, 0.1]])
    improved = VALUE - (LOGGED + float((later * CHANCES).sum(1).mean())) / 2
    misses = {"value": 0, "improvement": 0}
    for _ in range(LOGS):
        weighted = logged(generator, 1500, model, later=later)
        for name, limits_of, true in (
            ("value", value_of, VALUE),
            ("improvement", improvement_of, improved),
        ):
            one = limits_of(weighted, DELTA)
            misses[name] += not one.lower <= true <= one.upper
    assert max(misses.values()) <= MOST_MISSES


def test_an_improvement_is_not_claimed_when_the_log_has_become_better() -> None:
    """Betting on these terms, whose means move, claims it in a third of such logs."""
    generator = np.random.default_rng(8)
    means, policy = np.array([0.95, 0.6, 0.05]), np.array([0.0, 1.0, 0.0])
    rows = 2000
    chances = np.repeat([[0.02, 0.49, 0.49], [0.96, 0.02, 0.02]], rows // 2, axis=0)
    assert policy @ means < (chances @ means).mean()
    claims = {"improvement": 0, "betting": 0}
    for _ in range(100):
        actions = (generator.random(rows)[:, None] > chances.cumsum(1)[:, :-1]).sum(1)
        rewards = (generator.random(rows) < means[actions]).astype(np.float64)
        propensities = chances[np.arange(rows), actions]
        weighted = Weighted(np.tile(policy, (rows, 1)), actions, rewards, propensities)
        claims["improvement"] += improvement_of(weighted, 0.05).lower > 0
        claims["betting"] += mean_lower_limit(weighted.terms() - rewards, 1.0, 0.025) > 0
    assert claims["improvement"] <= 4
    assert claims["betting"] > 10  # so the case is a hard one


def test_no_term_is_below_the_floor_and_means_stay_the_same() -> None:
    generator = np.random.default_rng(9)
    plain = logged(generator, 20_000, CHANCES)
    reduced = replace(plain, floor=1.5)
    for one in (reduced, reduced.mirrored()):
        assert one.terms().min() >= -1.5
    assert plain.terms().min() < -1.5
    error = (plain.terms() - reduced.terms()).std() / np.sqrt(20_000)
    assert abs((plain.terms() - reduced.terms()).mean()) < 4 * error


def test_a_good_model_narrows_the_limits() -> None:
    widths = {}
    for name, model in (("ips", None), ("dr", CHANCES)):
        one = value_of(logged(np.random.default_rng(1), 3000, model), DELTA)
        widths[name] = one.upper - one.lower
    assert widths["dr"] < widths["ips"]


def test_limits_that_contradict_each_other_are_refused() -> None:
    """Propensities that are far too small: more rewards, and more of 1 − r, than can be."""
    rows = 500
    actions = np.zeros(rows, np.int64)
    rewards = np.tile([0.0, 1.0], rows // 2)
    policy = np.tile([1.0, 0.0], (rows, 1))
    with pytest.raises(PacboundError, match="propensities cannot be right"):
        value_of(Weighted(policy, actions, rewards, np.full(rows, 0.1)), DELTA)


def test_the_limit_of_a_mean_holds_for_heavy_tails() -> None:
    """Rare and large terms: the lower limit may not exceed the mean by luck alone."""
    generator = np.random.default_rng(2)
    misses = 0
    for _ in range(LOGS):
        terms = np.where(generator.random(200) < 0.01, 50.0, 0.0)  # of mean 0.5
        misses += mean_lower_limit(terms, 0.0, DELTA) > 0.5
    assert misses <= MOST_MISSES


def test_the_limit_of_an_average_holds_when_means_move() -> None:
    """The chance of a reward depends on the rewards before, and on when one stops."""
    generator = np.random.default_rng(3)
    misses, widths = 0, []
    for _ in range(LOGS):
        rewards: list[float] = []
        means: list[float] = []
        while len(rewards) < 40 or (np.mean(rewards) < 0.6 and len(rewards) < 120):
            means.append(0.3 + 0.4 * (sum(rewards[-5:]) / 5))
            rewards.append(float(generator.random() < means[-1]))
        found = of_replay(np.array(rewards), DELTA)
        misses += not found.lower <= np.mean(means) <= found.upper
        widths.append(found.upper - found.lower)
    assert misses <= MOST_MISSES
    assert np.mean(widths) < 0.5


def test_limits_are_those_of_a_search_on_a_grid() -> None:
    generator = np.random.default_rng(4)
    terms = generator.random(50) * 3
    limit = mean_lower_limit(terms, 0.5, 0.05)
    grid = np.linspace(-0.5, 1.5, 4001)[1:]
    bets = []
    for t in range(50):
        before = terms[:t]
        means = [(0.5 + terms[:i].sum()) / (1 + i) for i in range(t)]
        variance = (0.25 + sum((before - means) ** 2)) / (1 + t)
        bets.append(np.sqrt(2 * np.log(20) / (50 * variance)))
    wealth = [
        np.prod([1 + min(b, 0.75 / (v + 0.5)) * (x - v) for b, x in zip(bets, terms, strict=True)])
        for v in grid
    ]
    below = grid[np.array(wealth) < 20]
    assert limit == pytest.approx(below.min(), abs=6e-4)
    assert (np.diff(wealth) <= 1e-9).all()


def test_no_terms_and_constant_terms() -> None:
    assert average_lower_limit(np.empty(0), 0.05) == 0.0
    assert average_lower_limit(np.zeros(10), 0.05) == 0.0
    assert mean_lower_limit(np.zeros(10), 0.0, 0.05) == 0.0
    assert 0.9 < mean_lower_limit(np.ones(1000), 0.0, 0.05) < 1


class Knowing(Agent):
    """Pulls the arm of the context's sign."""

    def choose(self, contexts: np.ndarray) -> np.ndarray:
        return (contexts[:, 0] > 0).astype(np.int64)


def uniform_log(rows: int) -> Log:
    generator = np.random.default_rng(5)
    contexts = generator.standard_normal((rows, 1)).astype(np.float32)
    actions = generator.integers(2, size=rows)
    right = actions == (contexts[:, 0] > 0)
    rewards = (generator.random(rows) < np.where(right, 0.9, 0.2)).astype(np.float64)
    return Log("log", contexts, actions, rewards, np.full(rows, 0.5), ("no", "yes"))


def test_every_estimator_finds_the_value_of_a_known_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "knowing", Knowing)
    record = evaluate(uniform_log(4000), {"knowing": AgentSettings()}, Plan(delta=0.01))
    (agent,) = record["agents"]
    assert record["min_propensity"] == 0.5
    assert set(agent["estimates"]) == {"dr", "ips", "replay"}
    for found in agent["estimates"].values():
        value = found["value"]
        assert value["lower"] < 0.9 < value["upper"]
        assert value["estimate"] == pytest.approx(0.9, abs=0.05)
    # half of the rows after the first tenth, which gives the columns their scale
    assert agent["estimates"]["replay"]["rows"] == pytest.approx(1800, abs=150)
    for kind in ("dr", "ips"):
        gain = agent["estimates"][kind]["improvement"]
        assert 0.2 < gain["lower"] < 0.35 < gain["upper"]


def test_rewards_in_other_units_give_the_same_in_those_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(AGENTS, "knowing", Knowing)
    log = uniform_log(600)
    other = Log(
        "log", log.contexts, log.actions, 20 * log.rewards - 10, log.propensities, log.names
    )
    plain, scaled = (
        evaluate(one, {"knowing": AgentSettings()}, Plan(low=low, high=high))["agents"][0]
        for one, low, high in ((log, 0.0, 1.0), (other, -10.0, 10.0))
    )
    for kind, found in plain["estimates"].items():
        there = scaled["estimates"][kind]
        for name, number in found["value"].items():
            assert there["value"][name] == pytest.approx(20 * number - 10)
        for name, number in found.get("improvement", {}).items():
            assert there["improvement"][name] == pytest.approx(20 * number)


def uneven_log(rows: int, generator: np.random.Generator) -> Log:
    """Arm 1 four times in five. The value of `Knowing` is 0.6; on the rows where it does what the
    log did, its mean reward is 0.78.
    """
    contexts = generator.standard_normal((rows, 1)).astype(np.float32)
    actions = (generator.random(rows) < 0.8).astype(np.int64)
    chances = np.where(actions == (contexts[:, 0] > 0), np.where(actions == 1, 0.9, 0.3), 0.1)
    rewards = (generator.random(rows) < chances).astype(np.float64)
    propensities = np.where(actions == 1, 0.8, 0.2)
    return Log("log", contexts, actions, rewards, propensities, ("no", "yes"))


def test_replay_of_uneven_choices_accepts_all_arms_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "knowing", Knowing)
    log = uneven_log(6000, np.random.default_rng(6))
    plan = Plan(min_propensity=0.2, estimators=("replay",))
    (agent,) = evaluate(log, {"knowing": AgentSettings()}, plan)["agents"]
    assert agent["estimates"]["replay"]["value"]["estimate"] == pytest.approx(0.6, abs=0.05)


def test_limits_of_a_replay_of_uneven_choices_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of arm 1 are accepted too often if propensities are ignored: then most logs miss."""
    monkeypatch.setitem(AGENTS, "knowing", Knowing)
    generator, logs, delta = np.random.default_rng(7), 200, 0.2
    misses = 0
    for seed in range(logs):
        plan = Plan(min_propensity=0.2, estimators=("replay",), delta=delta, seed=seed)
        log = uneven_log(1200, generator)
        (agent,) = evaluate(log, {"knowing": AgentSettings()}, plan)["agents"]
        value = agent["estimates"]["replay"]["value"]
        misses += not value["lower"] <= 0.6 <= value["upper"]
    assert misses <= stats.binom.ppf(1 - 1e-6, logs, delta)


def test_agents_are_told_the_propensities_of_the_rows_that_they_learn_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[float] = []

    class Listening(Knowing):
        def observe_logged(self, contexts, arms, rewards, propensities) -> None:  # type: ignore[no-untyped-def]
            told.extend(propensities)

    monkeypatch.setitem(AGENTS, "listening", Listening)
    log = uneven_log(400, np.random.default_rng(8))
    plan = Plan(min_propensity=0.2, estimators=("dr",))
    evaluate(log, {"listening": AgentSettings()}, plan)
    assert told == log.propensities[:200].tolist()


def test_agents_learn_from_a_log() -> None:
    settings = AgentSettings(hidden=8, minibatches=20, batch=32, learning_rate=0.01)
    plan = Plan(estimators=("dr", "replay"))
    record = evaluate(uniform_log(1500), {"linear": settings, "k-linear": settings}, plan)
    for agent in record["agents"]:
        assert agent["estimates"]["dr"]["improvement"]["estimate"] > 0.15
        assert agent["estimates"]["replay"]["value"]["estimate"] > 0.65


CSV = "age,action,reward,propensity\n30,b,1,0.5\n40,a,0,0.25\n50,b,0.5,0.5\n"


def test_a_log_is_read_from_csv_and_npz(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(CSV)
    np.savez(
        tmp_path / "log.npz",
        contexts=np.array([[30], [40], [50]]),
        actions=np.array(["b", "a", "b"]),
        rewards=np.array([1, 0, 0.5]),
        propensities=np.array([0.5, 0.25, 0.5]),
    )
    for name in ("log.csv", "log.npz"):
        log = read_log(tmp_path / name)
        assert log.names == ("a", "b")
        assert log.actions.tolist() == [1, 0, 1]
        assert log.contexts.tolist() == [[30], [40], [50]]
        assert log.rewards.tolist() == [1, 0, 0.5]
        assert log.propensities.tolist() == [0.5, 0.25, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CSV.replace("propensity", "chance"), "no column 'propensity'"),
        (CSV.replace("0.25", "0"), "example 2: the propensity is 0"),
        (CSV.replace("0.25", "1.5"), "propensity"),
        (CSV.replace("a,0", "b,0"), "single action"),
        (CSV.replace("30", "young"), "row 2"),
        (CSV.replace("0.25", ""), "row 3: the propensity is missing; remove"),
        (CSV.replace("a,0,", "a,,"), "row 3: the reward is missing; remove"),
        (CSV.replace("a,0,", ",0,"), "row 3: the action is missing; remove"),
        (CSV.replace("a,0,", "none,0,"), "'none' means a missing value.*give it another name"),
        ("action,reward,propensity\n1,1,1\n", "no context"),
        ("age,action,reward,propensity\n", "no rows"),
    ],
)
def test_bad_logs_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(PacboundError, match=message):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"high": 0.5}, "not between 0 and 0.5"),
        ({"estimators": ("dm",)}, "dm"),
        ({"delta": 0.0}, "delta"),
        ({"train_share": 1.0}, "train_share"),
        ({"min_propensity": 0.6}, "one of 2 arms has 0.5 or less"),
        ({"high": 1e308, "low": -1e308}, "cannot be from"),
        ({"low": 1.0}, "cannot be from"),
    ],
)
def test_bad_plans_are_refused(plan: dict[str, object], message: str) -> None:
    with pytest.raises(PacboundError, match=message):
        evaluate(uniform_log(50), {"uniform": AgentSettings()}, Plan(**plan))  # type: ignore[arg-type]


def with_propensities(log: Log, *by_arm: float) -> Log:
    return replace(log, propensities=np.array(by_arm)[log.actions])


def test_a_smallest_propensity_that_the_log_refutes_is_refused() -> None:
    log, agents = uniform_log(100), {"uniform": AgentSettings()}
    for log_, declared, message in (
        (with_propensities(log, 0.1, 0.9), 0.2, "below the smallest"),
        (with_propensities(log, 1.0, 1.0), 0.5, "another arm had less"),
        (with_propensities(log, 0.9, 0.9), 0.2, "another arm had less"),
        (with_propensities(log, 1.0, 0.5), 1e-4, "another arm had less"),  # no choice at all
        (log, 1.0, "0.5 or less"),
    ):
        with pytest.raises(PacboundError, match=message):
            evaluate(log_, agents, Plan(min_propensity=declared))
    # What decimals round is not refused.
    evaluate(chosen_by(log, 0.3, 0.7), agents, Plan(min_propensity=0.1 + 0.2))
    evaluate(chosen_by(log, 0.333, 0.667), agents, Plan(min_propensity=0.333))
    assert evaluate(chosen_by(log, 0.5, 0.4995), agents, Plan())["min_propensity"] == 0.4995


def chosen_by(log: Log, *by_arm: float) -> Log:
    """The same contexts with actions of these chances, as the propensities say."""
    chances = np.array(by_arm) / sum(by_arm)
    actions = np.random.default_rng(3).choice(len(by_arm), size=len(log), p=chances)
    return with_propensities(replace(log, actions=actions), *by_arm)


@pytest.mark.parametrize(
    ("stated", "declared", "message"),
    [
        ((0.5, 0.5), None, "arm no was chosen too often"),  # taken as uniform
        ((0.8, 0.8), 0.2, "arm yes was chosen too seldom"),  # that of the usual arm in every row
        ((0.2, 0.8), 0.2, "arm no was chosen too often"),  # exchanged
        ((0.6, 0.4), None, "arm no was chosen too often"),
    ],
)
def test_propensities_that_the_actions_refute_are_refused(
    stated: tuple[float, float], declared: float | None, message: str
) -> None:
    log = with_propensities(chosen_by(uniform_log(2000), 0.8, 0.2), *stated)
    with pytest.raises(PacboundError, match=message):
        evaluate(log, {"uniform": AgentSettings()}, Plan(min_propensity=declared))


def test_right_propensities_are_hardly_ever_refused() -> None:
    """Also those of a policy that learns; 1 of 1000 logs may be refused."""
    generator = np.random.default_rng(4)
    for _ in range(300):
        first = np.where(np.arange(200) < 100, generator.uniform(0.1, 0.9), 0.1)
        actions = (generator.random(200) > first).astype(np.int64)
        propensities = np.where(actions == 0, first, 1 - first)
        log = Log("log", np.ones((200, 1)), actions, np.ones(200), propensities, ("a", "b"))
        refuse_wrong_propensities(log, 0.1)


def test_estimators_that_disagree_about_a_policy_are_refused() -> None:
    one, other = Estimate(0.2, 0.1, 0.3), Estimate(0.4, 0.31, 0.5)
    refuse_disjoint([one, Estimate(0.3, 0.3, 0.5)])
    with pytest.raises(PacboundError, match="disagree about one policy"):
        refuse_disjoint([one, other])


def least_rare(delta: float) -> float:
    """A term of 1/q with probability q, else 0: the largest q for which it exceeds the limit.

    A bet of MOST makes 1 + MOST (1/q − 1) of it, which must be 1/δ.
    """
    return MOST / (1 / delta - 1 + MOST)


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.01])
def test_the_limit_of_one_rare_term_is_as_sharp_as_it_may_be(delta: float) -> None:
    """It misses with probability q, which is at most δ and more than half of it."""
    q = least_rare(delta)
    assert delta / 2 < q <= delta
    for chance, missed in ((0.99 * q, True), (1.01 * q, False)):
        assert (mean_lower_limit(np.array([1 / chance]), 0.0, delta) > 1) == missed


@pytest.mark.parametrize("reward", [0.5, 0.25])
def test_each_side_of_a_value_has_half_of_delta(reward: float) -> None:
    """One row, whose action the policy always takes: the weighted reward is one rare term."""
    delta = 0.1
    q = least_rare(delta / 2)
    for chance, missed in ((0.99 * q, True), (1.01 * q, False)):
        row = Weighted(
            np.array([[1.0, 0.0]]), np.array([0]), np.array([reward]), np.array([chance])
        )
        assert (mean_lower_limit(row.terms(), 0.0, delta / 2) > reward) == missed
        mirrored = replace(row, rewards=1 - row.rewards)
        for one, true in ((row, reward), (mirrored, 1 - reward)):
            try:
                found = value_of(one, delta)
            except PacboundError:  # both sides miss
                assert missed
                continue
            assert (found.lower > true or found.upper < true) == missed


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
def test_limits_hold_for_all_short_sequences(chance: float, delta: float) -> None:
    """The probability of a miss, summed over all sequences of ten terms of 0 and 1."""
    missed = {"mean": 0.0, "average": 0.0}
    for terms in map(np.array, itertools.product((0.0, 1.0), repeat=10)):
        probability = chance ** terms.sum() * (1 - chance) ** (10 - terms.sum())
        missed["mean"] += probability * (mean_lower_limit(terms, 0.0, delta) > chance)
        missed["average"] += probability * (average_lower_limit(terms, delta) > chance)
    assert max(missed.values()) <= delta


def test_delta_is_divided_equally_among_all_intervals() -> None:
    """Half as many intervals with half of δ have the same limits."""
    log, settings = uniform_log(200), AgentSettings()
    few = evaluate(log, {"uniform": settings}, Plan(estimators=("ips",), delta=0.05))
    both = evaluate(log, {"uniform": settings}, Plan(estimators=("ips", "dr"), delta=0.1))
    two = {"uniform": settings, "linear": settings}
    many = evaluate(log, two, Plan(estimators=("ips", "dr", "replay"), delta=0.25))
    limits = [one["agents"][0]["estimates"]["ips"] for one in (few, both, many)]
    assert limits[0] == limits[1] == limits[2]
    assert many["agents"][0]["estimates"]["dr"] == both["agents"][0]["estimates"]["dr"]


def test_rows_without_a_choice_are_counted() -> None:
    log = with_propensities(uniform_log(100), 1.0, 0.5)
    record = evaluate(log, {"uniform": AgentSettings()}, Plan())
    assert record["rows_without_choice"] == (log.actions == 0).sum()
    assert set(record["agents"][0]["estimates"]) == {"ips"}


def test_a_replay_that_accepts_nothing_has_no_estimate() -> None:
    record = evaluate(
        with_propensities(uniform_log(30), 0.5, 0.5),
        {"uniform": AgentSettings()},
        Plan(min_propensity=1e-9, estimators=("replay",)),
    )
    found = record["agents"][0]["estimates"]["replay"]
    assert found == {"rows": 0, "value": {"estimate": None, "lower": 0.0, "upper": 1.0}}


def test_units_of_contexts_do_not_matter() -> None:
    """Times in seconds and a constant column: the columns are scaled by the first rows."""
    log = uniform_log(1500)
    times = 1.7e9 + 1e5 * log.contexts.astype(np.float64)
    odd = replace(log, contexts=np.hstack([times, times, np.full((1500, 1), 1e6)]))
    settings = AgentSettings(hidden=8, minibatches=20, batch=32, learning_rate=0.01)
    plan = Plan(estimators=("dr", "replay"))
    record = evaluate(odd, {"linear": settings, "k-linear": settings}, plan)
    for agent in record["agents"]:
        assert agent["estimates"]["dr"]["improvement"]["estimate"] > 0.15
        assert agent["estimates"]["replay"]["value"]["estimate"] > 0.65


def test_a_column_that_begins_to_vary_late_does_not_spoil_an_agent() -> None:
    """A flag of 0 and 1e6 that is 0 in the first rows: it is clipped, whatever its units are."""
    log = uniform_log(1500)
    flag = np.where(np.arange(1500) % 40 == 39, 1e6, 0.0)
    flag[:800] = 0
    odd = replace(log, contexts=np.hstack([log.contexts, flag[:, None]]))
    settings = AgentSettings(hidden=8, minibatches=20, batch=32, learning_rate=0.01)
    plan = Plan(estimators=("dr",))
    for name in ("linear", "k-linear"):
        found = evaluate(odd, {name: settings}, plan)["agents"][0]["estimates"]["dr"]
        assert found["improvement"]["estimate"] > 0.15


def test_no_evaluated_row_scales_the_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    class Noting(Knowing):
        def observe(self, contexts: np.ndarray, arms: np.ndarray, rewards: np.ndarray) -> None:
            seen.append(contexts)

    monkeypatch.setitem(AGENTS, "noting", Noting)
    log = uniform_log(400)
    other = replace(log, contexts=log.contexts.copy())
    other.contexts[30] = 1000.0  # within the first tenth, after the training rows
    for one in (log, other):
        plan = Plan(train_share=0.05, estimators=("ips",))
        evaluate(one, {"noting": AgentSettings()}, plan)
    np.testing.assert_array_equal(*seen)


def test_estimators_that_need_the_smallest_propensity_say_so() -> None:
    log = uniform_log(100)
    propensities = np.where(log.actions == 1, 0.6, 0.4)
    uneven = Log("log", log.contexts, log.actions, log.rewards, propensities, log.names)
    record = evaluate(uneven, {"uniform": AgentSettings()}, Plan())
    assert set(record["agents"][0]["estimates"]) == {"ips"}
    with pytest.raises(PacboundError, match="--min-propensity"):
        evaluate(uneven, {"uniform": AgentSettings()}, Plan(estimators=("dr",)))
