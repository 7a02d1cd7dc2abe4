# SPDX-License-Identifier: Apache-2.0
"""Draw the graph that the recorder's write-up explains evaluation with, and say how it will run.

Prints each operation in the order of evaluation with the number of its consumers, then the graph,
and writes it for Graphviz: ``dot -Tsvg graph.dot -o graph.svg``.
"""

import argparse
import sys

import strandline.array as sa


def draw(file):
    """Say how the graph will run, write it to an open file, and run it."""
    a, b = sa.array([1, 2, 3, 4]), sa.array([5, 6, 7, 8])
    c = a + b
    K, L = a.reshape(4, 1), c.reshape(1, 4)  # noqa: N806  as the write-up names them
    d = K @ L
    s = sa.split(d, 4)
    out1, out2, out3 = s[0] + s[2], d.reshape(4, 4), d + a
    assert out2.id == d.id, "a reshape to the same shape is the same node"

    outputs = (out1, out2, out3)
    names = {"a": a, "b": b, "c": c, "K": K, "L": L, "d": d, "out1": out1, "out3": out3}
    print("evaluation")
    for operation, _, consumers in sa.evaluation_plan(*outputs):
        print(f"  {operation:<10} {consumers} consumer{'s' if consumers > 1 else ''}")
    print()
    sa.export_to_dot(file, *outputs, **names)
    sa.eval(*outputs)
    print("out1", out1.tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("path", nargs="?", default="graph.dot", help="what to write (%(default)s)")
    path = parser.parse_args().path
    try:
        file = open(path, "w", encoding="utf-8")
    except OSError as error:
        print(f"error: {path} cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    with file:
        draw(file)
    print(f"graph written to {path}")


if __name__ == "__main__":
    main()
