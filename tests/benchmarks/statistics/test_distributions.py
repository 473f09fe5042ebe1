"""Quantiles against tables, and against their own inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks.statistics.distributions import beta_cdf, beta_quantile, t_quantile, t_two_sided_p


@pytest.mark.parametrize(("df", "quantile"), [(1, 12.7062), (2, 4.30265), (7, 2.36462), (30, 2.04227), (1000, 1.96234)])
def test_students_t_at_97_5_percent_is_that_of_tables(df: float, quantile: float) -> None:
    assert t_quantile(0.975, df) == pytest.approx(quantile, rel=1e-5)
    assert t_two_sided_p(quantile, df) == pytest.approx(0.05, rel=1e-4)


def test_a_beta_of_whole_parameters_is_a_binomial_tail() -> None:
    # P(Beta(2, 3) <= x) is the chance of 2 or more of 4: 6 x^2 (1-x)^2 + 4 x^3 (1-x) + x^4.
    x = 0.3
    assert beta_cdf(x, 2, 3) == pytest.approx(6 * x**2 * (1 - x) ** 2 + 4 * x**3 * (1 - x) + x**4)


@pytest.mark.parametrize(("x", "p"), [(-1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 1.0)])
def test_a_beta_lies_between_0_and_1(x: float, p: float) -> None:
    assert beta_cdf(x, 2.5, 0.5) == p


@given(st.floats(0.01, 0.99), st.floats(0.2, 50), st.floats(0.2, 50))
def test_quantiles_are_the_inverse(p: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-6)
    assert beta_cdf(0.4, a, b) == pytest.approx(1 - beta_cdf(0.6, b, a), abs=1e-9)
