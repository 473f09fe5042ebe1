"""A small closed language of conditions and values over rows: typed when it is read, and evaluated without `eval`.

It has the syntax of Python expressions: fields (`loan.due`, `loan.member.tier`), the rows that name a row
(`copy.holds`), comparisons, `and`, `or`, `not`, `+`, `-`, `*`, `a if b else c`, `share(amount, percent)`, `min` and
`max` of several values, and functions over rows, as in `any(h.status == "waiting" for h in copy.holds)`: `any`, `all`,
`sum`, `count`, `min`, `max`, `first` (a row that may be missing) and `one` (a row that must be there). It has no other
calls, no strings beside literals and no loops. Its length and depth are bounded, so its time is bounded by the rows
that it goes through.
"""

from palaestra.envs.blueprints.expressions.expression import Expression
from palaestra.envs.blueprints.expressions.frame import Calculation, EvaluationTrace, Frame, Scan
from palaestra.envs.blueprints.expressions.parsing import parse_expression
from palaestra.envs.blueprints.expressions.scope import EntityScope, Relation, Scope
from palaestra.envs.blueprints.expressions.value_type import DATE, FLAG, INTEGER, MONEY, NONE, TEXT, ValueType

__all__ = [
    "DATE",
    "FLAG",
    "INTEGER",
    "MONEY",
    "NONE",
    "TEXT",
    "Calculation",
    "EntityScope",
    "EvaluationTrace",
    "Expression",
    "Frame",
    "Relation",
    "Scan",
    "Scope",
    "ValueType",
    "parse_expression",
]
