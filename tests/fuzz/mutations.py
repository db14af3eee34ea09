"""Small tables of every format, altered at one place or a few: bytes, quotes, separators, numbers, headers, types."""

import datetime
import decimal
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

TEXT = ("csv", "tsv", "jsonl")
FORMATS = (*TEXT, "csv", "csv", "jsonl", "parquet", "ipc")
ODD_NUMBERS = (
    *("1e400", "-1e400", "-0", "0x1F", "1_000", "1e", "+.5", "5.", ".", "nan", "NaN", "inf", "-Infinity", "1E5", "1d5"),
    *("１２", "1e-400", " 1 ", "1,5", "00012", "--1", "99999999999999999999", "0.1e-5000", "true", "", "NA", "null"),
    *("1 000", "1'000", "٣", "1e+5", "+1", "1e308", "5e-324", "1" * 400, "0." + "1" * 400, "1.7976931348623159e308"),
    *("12:30:00", "2026-01-31", "½", "\u00a01", "1\u200b", "#DIV/0!", "1%", "$1", "(1)", "1f", "1.0.0", "e5", "-"),
)
_WIDE = 0.01  # the share of tables that have many columns
_LENGTHS = (200, 200, 200, 5000, 5000, 70_000, 300_000)  # of a long field: most of them short, as long ones take long
TOKENS = (
    *(b'"', b'""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\xef\xbb\xbf", b"\xff", b"\xe9", b"'"),
    *(b"\\", b" ", b"\x1a", b"\x0b", b"\x0c", b"\xe2\x80\xa8", b"\xc2\x85", b"{", b"}", b"[", b"]", b"#", b":", b"|"),
    *(b"\x1b[31m", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"=1+1", b'","', b'"\n"', b"null", b"NaN", b"1e400"),
)
ODD_JSON = (
    *("1e400", "NaN", "-Infinity", "-0", "-0.0", '"1.5"', '" 2 "', '""', "null", "true", "false", "[]", "{}", "[1]"),
    *('{"a": 1}', '"\\ud800"', '"\\u0000"', '"\\u001b[31m"', "1" * 30, "1" * 400, "01", "1.", ".5", "+1", "0x1", "1e5"),
    *("1E-5", "'1'", "tru", '"NaN"', '"inf"', '"1e400"', '"true"', '"x', "1 2", "[" * 100, '"' + "z" * 5000 + '"'),
    *("123456789012345678", "1e22", "1e15", "0.1", "1e-7", "1e16", '"2026-01-31"', '"\\n"', '"a\\\\b"', '"é"'),
)


class Mutated(NamedTuple):
    """A file: the ending of its name, its bytes, and what they were compressed from, if they were.

    Beside it, how long that was before the compressed bytes were altered, and the columns of words.
    """

    ending: str
    data: bytes
    plain: bytes | None
    size: int
    words: tuple[str, ...] = ()


def mutated(rng: random.Random, alters: bool = True) -> Mutated:
    """A file; altered, or as it should be."""
    format = rng.choice(FORMATS)
    if format in TEXT:
        columns = _columns(rng)
        made = _json_text(rng, columns, alters) if format == "jsonl" else _delimited_text(rng, format, columns, alters)
        data, words = made, tuple(column.name for column in columns if column.kind == "word")
        for _ in range(rng.choice((0, 1, 1, 1, 2, 4)) if alters else 0):
            data = _alter_bytes(rng, data, TOKENS)
        if alters and rng.random() < 0.03:
            data = _encoded(rng, data)
        return _compressed(rng, format, data, alters)._replace(words=words)
    data = _columnar(rng, format, alters)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 8)) if alters else 0):
        data = _alter_bytes(rng, data, (b"\x00", b"\xff" * 4, b"\x00" * 8, b"\x7f\xff\xff\xff", b"PAR1", b"ARROW1"))
    return Mutated(format if format == "parquet" else "arrow", data, None, len(data))


def _encoded(rng: random.Random, data: bytes) -> bytes:
    encoding = rng.choice(("utf-16", "utf-16-le", "latin-1", "utf-8-sig", "utf-32"))
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _compressed(rng: random.Random, format: str, data: bytes, alters: bool) -> Mutated:
    way = rng.random()
    if way > 0.15:
        return Mutated(format, data, None, len(data))
    if way < 0.08:
        packed, ending = gzip.compress(data, 1, mtime=0), f"{format}.gz"
    else:
        packed, ending = pa.compress(data, codec="zstd", asbytes=True), f"{format}.zst"
    if alters and rng.random() < 0.5:
        altered = _alter_bytes(rng, packed, (b"\x00", b"\xff", packed, packed[:10]))
        return Mutated(ending, altered, None if altered != packed else data, len(data))
    return Mutated(ending, packed, data, len(data))


# Values


def _number(rng: random.Random) -> str:
    return rng.choice(
        (f"{rng.gauss(0, 1):.3f}", str(rng.randint(-99, 99)), f"{rng.gauss(0, 1):.4e}", repr(rng.gauss(0, 1)))
    )


class _Column(NamedTuple):
    """A column, and what makes the text of a value of it."""

    name: str
    kind: str
    make: Callable[[], str]


def _columns(rng: random.Random) -> list[_Column]:
    """Columns, the target among them."""
    makers: dict[str, Callable[[], str]] = {
        "number": lambda: _number(rng),
        "truth": lambda: rng.choice(("true", "false")),
        "word": lambda: rng.choice(("Rome", "Oslo", "São Paulo", "a b", "x=y")),
        "date": lambda: f"20{rng.randint(10, 40)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    }
    kinds = ["number", *rng.choices(list(makers), (6, 1, 2, 1), k=rng.randint(0, 3))]
    names: list[str] = rng.sample(("a", "b", "km", "x y", "été", "c,d", "Q"), len(kinds))
    if rng.random() < _WIDE:
        names += [f"c{number}" for number in range(rng.choice((20, 200)))]
        kinds += ["number"] * (len(names) - len(kinds))
    found = [_Column(name, kind, makers[kind]) for name, kind in zip(names, kinds, strict=True)]
    found.insert(rng.randint(0, len(found)), _Column("y", "number", makers["number"]))
    return found


# CSV and TSV


def _delimited_text(rng: random.Random, format: str, columns: Sequence[_Column], alters: bool) -> bytes:
    separator = "\t" if format == "tsv" else rng.choice(",,,;|")
    end = rng.choice(("\n", "\n", "\n", "\r\n"))
    quoted = rng.random() < 0.2
    rows = [[column.name for column in columns]]
    rows += [[column.make() for column in columns] for _ in range(rng.randint(1, rng.choice((6, 12, 30))))]
    if alters:
        for _ in range(rng.choice((0, 1, 1, 2))):
            rng.choice(_ROW_WAYS)(rng, rows)
    lines = [separator.join(_field(each, separator, quoted) for each in row) for row in rows]
    return (end.join(lines) + end * (rng.random() < 0.9)).encode()


def _field(text: str, separator: str, quoted: bool) -> str:
    if quoted or separator in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _odd_value(rng: random.Random, rows: list[list[str]]) -> None:
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = rng.choice(ODD_NUMBERS)


def _long_value(rng: random.Random, rows: list[list[str]]) -> None:
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = rng.choice(("a", "9", '"', "é", "\n")) * rng.choice(_LENGTHS)


def _ragged(rng: random.Random, rows: list[list[str]]) -> None:
    row = rng.choice(rows)
    if rng.random() < 0.5:
        row.append(rng.choice(("", "1", "x")))
    else:
        del row[-1:]


def _header_again(rng: random.Random, rows: list[list[str]]) -> None:
    rows.insert(rng.randint(0, len(rows)), list(rows[0]))


def _names_again(rng: random.Random, rows: list[list[str]]) -> None:
    if rows[0]:
        rows[0][rng.randrange(len(rows[0]))] = rng.choice((rows[0][0], "", "y", " y ", "é" * 3000, "a\nb", 'a"b', "1"))


def _blank_row(rng: random.Random, rows: list[list[str]]) -> None:
    rows.insert(rng.randint(0, len(rows)), [rng.choice(("", " ", "   ", "\t", "\u00a0"))])


def _row_again(rng: random.Random, rows: list[list[str]]) -> None:
    rows.insert(rng.randint(0, len(rows)), list(rng.choice(rows)))


_ROW_WAYS: Sequence[Callable[[random.Random, list[list[str]]], None]] = (
    *(_odd_value, _odd_value, _odd_value, _long_value),
    *(_ragged, _header_again, _names_again, _blank_row, _row_again),
)


# JSON lines


def _json_value(text: str, rng: random.Random) -> str:
    try:
        return json.dumps(float(text)) if rng.random() < 0.9 else json.dumps(text)
    except ValueError:
        return text if text in ("true", "false") else json.dumps(text, ensure_ascii=rng.random() < 0.5)


def _json_text(rng: random.Random, columns: Sequence[_Column], alters: bool) -> bytes:
    rows = [
        {column.name: _json_value(column.make(), rng) for column in columns}
        for _ in range(rng.randint(1, rng.choice((6, 12, 30))))
    ]
    for _ in range(rng.choice((0, 1, 1, 2)) if alters else 0):
        row = rng.choice(rows)
        name = rng.choice(list(row) or ["y"])
        way = rng.random()
        if way < 0.7:
            row[name] = rng.choice(ODD_JSON)
        elif way < 0.85:
            row.pop(name, None)
        else:
            row[rng.choice(("z", "", "\\u0061", "y"))] = "1"
    lines = [", ".join(f'"{name}": {value}' for name, value in row.items()).join("{}") for row in rows]
    if alters and rng.random() < 0.3:
        odd = ("[]", "{}", "null", "1", '"x"', "", "  ", "{},", "//", lines[0] * 2, lines[0][:-1] + ', "y": 7}')
        lines.insert(rng.randint(0, len(lines)), rng.choice(odd))
    return ("\n".join(lines) + "\n" * (rng.random() < 0.9)).encode()


# Parquet and Arrow IPC


def _arrow_column(rng: random.Random, n: int, odd: bool) -> pa.Array:
    start = datetime.datetime(2020, 1, 1)
    numbers = [rng.gauss(0, 1) for _ in range(n)]
    if odd and n:
        value: Any = rng.choice((None, float("nan"), float("inf"), 1e308, -0.0, 5e-324))
        numbers[rng.randrange(n)] = value
    whole = [None if each is None or each != each or abs(each) > 100 else int(10 * each) for each in numbers]
    makers: dict[str, Callable[[], pa.Array]] = {
        "float64": lambda: pa.array(numbers, pa.float64()),
        "float32": lambda: pa.array(numbers, pa.float32()),
        "int64": lambda: pa.array(whole, pa.int64()),
        "int8": lambda: pa.array(whole, pa.int8()),
        "uint64": lambda: pa.array([2**63 + abs(each or 0) for each in whole], pa.uint64()),
        "boolean": lambda: pa.array([None if each is None else each > 0 for each in whole]),
        "text": lambda: pa.array([rng.choice(("Rome", "Oslo", "")) for _ in range(n)]),
        "text of numbers": lambda: pa.array([_number(rng) for _ in range(n)]),
        "dictionary": lambda: pa.array([rng.choice(("u", "v")) for _ in range(n)]).dictionary_encode(),
        "dictionary of numbers": lambda: pa.array(whole, pa.int64()).dictionary_encode(),
        "decimal": lambda: pa.array([decimal.Decimal(each or 0) / 8 for each in whole], pa.decimal128(20, 4)),
        "date": lambda: pa.array([start.date() for _ in range(n)]),
        "timestamp": lambda: pa.array([start] * n, pa.timestamp("ns", rng.choice((None, "UTC", "Europe/Rome")))),
        "duration": lambda: pa.array([1000 * abs(each or 0) for each in whole], pa.duration("ms")),
        "null": lambda: pa.nulls(n),
        "list": lambda: pa.array([[1.0]] * n),
        "struct": lambda: pa.array([{"a": 1}] * n),
        "binary": lambda: pa.array([b"\xff\xfe"] * n),
        "float16": lambda: pa.array(numbers, pa.float64()).cast(pa.float16(), safe=False),
    }
    return makers[rng.choice(list(makers) if odd else ["float64", "float32", "int64", "float64"])]()


def _columnar(rng: random.Random, format: str, alters: bool) -> bytes:
    n = rng.choice((0, 1, 20, 40)) if alters else 20
    odd = alters and rng.random() < 0.5
    names = rng.sample(("a", "b", "km", "x y", "été"), rng.randint(1, 3))
    names.insert(rng.randint(0, len(names)), "y")
    if odd and rng.random() < 0.1:
        names[0] = rng.choice((names[-1], "", "a\nb", "é" * 3000))
    columns = [_arrow_column(rng, n, odd and name != "y") for name in names]
    table = pa.Table.from_arrays(columns, names=names)
    out = io.BytesIO()
    if format == "parquet":
        pq.write_table(
            table,
            out,
            row_group_size=rng.choice((7, 1000)),
            compression=rng.choice(("none", "snappy", "zstd", "gzip")),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(("1.0", "2.0")),
        )
        return out.getvalue()
    options = ipc.IpcWriteOptions(compression=rng.choice((None, None, "lz4", "zstd")))
    opened = ipc.new_file if rng.random() < 0.7 else ipc.new_stream
    with opened(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice((9, 1000)))
    return out.getvalue()


# Bytes


def _alter_bytes(rng: random.Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """A few bytes changed, taken out, put in or doubled; or the end cut off."""
    if not data:
        return rng.choice(tokens)
    place = rng.randrange(len(data))
    stop = min(len(data), place + rng.choice((1, 1, 4, 50, 1000)))
    way = rng.randrange(6)
    if way == 0:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if way == 1:
        return data[:place] + data[stop:]
    if way == 2:
        return data[:stop] + data[place:stop] + data[stop:]
    if way == 3:
        return data[:place]
    if way == 4:
        return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
    return data[:place] + rng.choice(tokens) + data[place:]
