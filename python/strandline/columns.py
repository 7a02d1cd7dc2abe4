# SPDX-License-Identifier: Apache-2.0
"""Tables of a snapshot file as columns, for NumPy and for whatever reads Arrow."""

import html
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy

TABLES = ("events", "blocks", "segments", "frames", "stacks")
_ROWS_SHOWN = 20


class Columns:
    """One table. ``columns["size"]`` is a NumPy array, read-only, on the memory of the file where
    the file has it as such (`is_copy` tells), of as many values as the table has rows.

    Columns with `texts` hold numbers of them; ``0`` is the empty text, or none. Times are
    ``datetime64[us]``, in UTC. ``pyarrow.table(columns)``, ``polars.from_arrow(columns)`` and a
    query of DuckDB on it read the same memory through Arrow's C interface.
    """

    def __init__(self, table: _native.ColumnTable, name: str) -> None:
        self._table = table
        self._name = name

    @property
    def names(self) -> list[str]:
        return self._table.names

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> "numpy.ndarray[Any, Any]":
        """Raises KeyError for a name that is none of `names`."""
        if name not in self._table.names:
            raise KeyError(name)
        array = self._table.array(name)
        return array.view("datetime64[us]") if self._table.is_time(name) else array

    def texts(self, name: str) -> list[str] | None:
        """What the values of the column are numbers of; None where they are just numbers."""
        if name not in self._table.names:
            raise KeyError(name)
        return self._table.texts(name)

    def is_copy(self, name: str) -> bool:
        """Whether the column was made for the table instead of being memory of the file."""
        if name not in self._table.names:
            raise KeyError(name)
        return self._table.is_copy(name)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._table.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<strandline.Columns {self._name}: {len(self)} rows of {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        shown = min(len(self), _ROWS_SHOWN)
        columns = [self._shown(name, shown) for name in self.names]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(column[row])}</td>" for column in columns) + "</tr>"
            for row in range(shown)
        )
        more = f"<p>… {len(self) - shown:,} more rows</p>" if len(self) > shown else ""
        caption = f"<caption>{html.escape(self._name)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _shown(self, name: str, rows: int) -> list[str]:
        texts = self._table.texts(name)
        values = self[name][:rows]
        if texts is not None:
            return [texts[int(value)] for value in values]
        return [hex(int(v)) if name == "address" else str(v) for v in values]
