"""Quantiles and tails of the beta distribution and of Student's t, from the regularised incomplete beta function.

The continued fraction is DLMF 8.17.22 (https://dlmf.nist.gov/8.17), evaluated by Lentz's method as modified by Thompson
and Barnett (1986, J. Comput. Phys. 64:490-509). Quantiles are computed by bisection, so that they are equal on every
machine up to the last bits of `math.lgamma` and `math.exp`.
"""

import math
from functools import lru_cache

_TINY = 1e-300
_RELATIVE = 1e-15
_FRACTION_STEPS = 10_000
_BISECTIONS = 60


def beta_cdf(x: float, a: float, b: float) -> float:
    """The probability that a beta variable with parameters `a` and `b`, both above 0, is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):  # where the fraction converges quickly
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1 - x, b, a) / b


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value that a beta variable with parameters `a` and `b` stays below with probability `p`."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if beta_cdf(middle, a, b) < p else (low, middle)
    return (low + high) / 2


def t_two_sided_p(t: float, df: float) -> float:
    """The probability that Student's t with `df` degrees of freedom is at least as far from 0 as `t`."""
    return beta_cdf(df / (df + t * t), df / 2, 0.5)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The value that Student's t with `df` degrees of freedom stays below with probability `p`, at least 0.5."""
    ratio = beta_quantile(2 * (1 - p), df / 2, 0.5)  # df / (df + t**2)
    return math.sqrt(df * (1 - ratio) / ratio)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function."""
    value = c = 1.0
    d = _away(1 - (a + b) * x / (a + 1))
    d = value = 1 / d
    for m in range(1, _FRACTION_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _RELATIVE:
            return value
    raise AssertionError(f"the incomplete beta function of x={x}, a={a}, b={b} does not converge")


def _away(value: float) -> float:
    """Replace 0 by a tiny value."""
    return value if abs(value) > _TINY else _TINY
