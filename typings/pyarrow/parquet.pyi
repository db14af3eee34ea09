from collections.abc import Iterator, Sequence
from typing import Any, Self

from pyarrow import RecordBatch, Schema, Table

class ColumnChunkMetaData:
    total_uncompressed_size: int

class RowGroupMetaData:
    num_rows: int
    num_columns: int
    def column(self, i: int) -> ColumnChunkMetaData: ...

class FileMetaData:
    num_rows: int
    num_row_groups: int
    def row_group(self, i: int) -> RowGroupMetaData: ...

class ParquetFile:
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    metadata: FileMetaData
    schema_arrow: Schema
    num_row_groups: int
    def __init__(
        self,
        source: object,
        *,
        metadata: FileMetaData | None = None,
        pre_buffer: bool = False,
        buffer_size: int = 0,
        read_dictionary: Sequence[str] | None = None,
    ) -> None: ...
    def iter_batches(
        self,
        batch_size: int = 65536,
        row_groups: Sequence[int] | None = None,
        columns: Sequence[str] | None = None,
        use_threads: bool = True,
    ) -> Iterator[RecordBatch]: ...
    def read_row_group(self, i: int, columns: Sequence[str] | None = None) -> Table: ...
    def close(self) -> None: ...

class ParquetWriter:
    def __init__(self, where: object, schema: Schema, **options: Any) -> None: ...
    def write_table(self, table: Table, row_group_size: int | None = None) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...

def read_table(source: object, columns: Sequence[str] | None = None, use_threads: bool = True) -> Table: ...
def write_table(table: Table, where: object, row_group_size: int | None = None, **options: Any) -> None: ...
