"""How many parts an evaluation of an expression comes to at most, worked out before it is ever evaluated.

Each part counts once for each time that it is evaluated. Parts under a function over rows count for each row that
there can be, also where a test chooses some of them.
"""

import ast

from palaestra.envs.blueprints.expressions.scope import Scope


def count_steps(node: ast.AST, scope: Scope) -> int:
    """The most evaluations of parts.

    Args:
        node: The expression.
        scope: What it may name, with the rows that each entity has at most.
    """
    match node:
        case ast.Name(id=name) if name in scope.definitions:
            return scope.definitions[name].steps
        case ast.GeneratorExp(elt=element, generators=[loop]):
            each = 1 + sum(count_steps(part, scope) for part in (element, *loop.ifs))
            return count_steps(loop.iter, scope) + _most_rows(loop.iter, scope) * each
        case _:
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            return 1 + sum(count_steps(part, scope) for part in parts)


def _most_rows(node: ast.expr, scope: Scope) -> int:
    """The most rows of a table, or of the relations of a name."""
    if isinstance(node, ast.Name) and node.id in scope.tables:
        return scope.entities[scope.tables[node.id]].most_rows
    if isinstance(node, ast.Attribute):
        relations = [one.relations[node.attr] for one in scope.entities.values() if node.attr in one.relations]
        return max((one.most_rows for one in relations), default=0)
    return 0
