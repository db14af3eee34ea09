"""CSV, TSV and their relatives.

Two megabytes at a time, plain numbers and dates go straight to rows (`plain_numbers`), and the columns beside them by
polars. What is not so (quotes, other ways to write numbers and dates) polars parses as a whole, to numbers or else to
texts that are looked at again; what is still odd (blank lines, stray quotes, wrong fields) is read with Python's own
csv module, which knows the line (`records`).
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import polars as pl

from onward.core.shown import brief
from onward.tables.errors import DataError
from onward.tables.kinds import TOLD_BY, UNKNOWN, Content, guess_each, read_texts, read_wider
from onward.tables.lines import Chunk, TextFile
from onward.tables.missing_texts import MISSING
from onward.tables.notation import Notation
from onward.tables.plain_numbers import PLAIN, are_plain_lines, plain_numbers
from onward.tables.quotes import first_record, is_tidy, outside, whole_records
from onward.tables.readers import Piece, check_columns, check_names, expected, parsed_ahead, parsed_pieces
from onward.tables.recipe import Kind
from onward.tables.records import Records, csv_reason, field_limit, short_text
from onward.tables.sources import File
from onward.tables.text_hints import advice_on

_SEPARATORS = ",;\t|"
_BOM = b"\xef\xbb\xbf"
_BLANKS = re.compile(rb"(?:\xef\xbb\xbf)?(?: *\r?\n)*+")  # what may stand before the header
_BLANK = re.compile(rb"(?:\A|\n) *\r?\n")
MOST_COLUMNS = 1_000_000
LONGEST_NAME = 10_000  # characters of a column's name
_WIDER, _WIDE = 8, 1024  # separators in a line that has no more columns than the header: some may be quoted
SAMPLE = 1 << 18  # bytes that are looked at to tell what columns hold
MOST_BAD = 300  # rows that cannot be read, after which no more are looked at for that


class DelimitedReader:
    """A file with one record on each line; the first has the names of the columns, unless there is no header."""

    def __init__(
        self,
        file: File,
        separator: str | None = None,
        notation: Notation | None = None,
        text: TextFile | None = None,
        header: bool = True,
    ) -> None:
        self.name = file.name
        self._text = text or TextFile(file)
        self._notation = notation or Notation()
        self._unknown: set[str] = set()  # columns of which only missing values have been seen
        # How chunks are read, going by those before: see `_parsed`; and what they need for it.
        self._way = 1 if self._notation.na else 0
        self._marks = list(self._notation.na)
        self._formats: dict[str, str] = {}
        try:
            separators = separator or ("\t" if file.format == "tsv" else _SEPARATORS)
            self._blank_lines, first, begin, end = self._first_record(separators)
            self.separator = separators if len(separators) == 1 else _likely_separator(first)
            names = self._names(first)
            numbered = [f"c{number}" for number in range(1, len(names) + 1)]
            self.columns, self._body = (names, end) if header else (numbered, begin)
            check_names(self.name, self.columns)
            self._records = Records(self.name, self.columns, self.separator, self._text)
        except BaseException:
            self._text.close()
            raise

    def _first_record(self, separators: str) -> tuple[int, str, int, int]:
        """How many blank lines come first, the first record's text, and where it begins and ends."""

        def past_header(data: bytes) -> int:
            return first_record(data, _end_of_blanks(data), separators) or 0

        data = self._text.head(past_header, 1)
        if not data.removeprefix(_BOM).strip():
            raise DataError(f"{self.name}: the file is empty, expected a header with the names of the columns")
        start = _end_of_blanks(data)
        end = first_record(data, start, separators) or len(data)
        blank = data.count(b"\n", 0, start)
        try:
            return blank, data[start:end].decode("utf-8").rstrip("\r\n"), start, end
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name}, line {blank + 1}: the header is not UTF-8 text ({error.reason}); name its encoding "
                "(--encoding), such as latin-1"
            ) from error

    def _names(self, header: str) -> list[str]:
        first = self._blank_lines + 1
        last = first + header.count("\n")
        place = f"{self.name}, line {first}" if last == first else f"{self.name}, lines {first} to {last}"
        if "\x00" in header:
            raise DataError(f"{place}: got a NUL byte, expected text")
        if header.count(self.separator) > MOST_COLUMNS:
            raise DataError(f"{place}: the header has more than {MOST_COLUMNS:,} columns")
        try:
            with field_limit():
                (names,) = csv.reader(io.StringIO(header, newline="\n"), delimiter=self.separator, strict=True)
        except (csv.Error, ValueError) as error:
            quotes = f"the quotes of the header do not match ({short_text(header)})"
            why = quotes if '"' in header else f"cannot be read as a header ({csv_reason(error)})"
            raise DataError(f"{place}: {why}") from error
        if any(len(name) > LONGEST_NAME for name in names):
            raise DataError(
                f"{place}: a column's name is longer than {LONGEST_NAME:,} characters; do the header's quotes match?"
            )
        return [name.strip() for name in names]

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds, going by the first rows; nothing if there are none."""
        chunk = self._text.sample(self._whole, self._body, SAMPLE)
        frames: list[pl.DataFrame] = []  # only rows that can be read tell what columns hold
        errors: list[DataError] = []
        for piece in parsed_pieces(chunk, self._as_texts, self._records.where, self._whole):
            if piece.error is None:
                frames.append(piece.frame)
            else:
                errors.append(piece.error)
            if len(errors) == MOST_BAD:
                break
        if not frames:
            if errors:
                raise errors[0]
            return {}
        frame = pl.concat(frames)
        told_by: TOLD_BY = "few" if self._text.arrives else "many"
        found = guess_each(frame, self._notation, told_by)
        self._unknown = {name for name, content in found.items() if content == UNKNOWN}
        return found

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """As in `Reader`; `start` counts bytes."""
        check_columns(self.name, self.columns, [*wanted, *keep])
        parse = partial(self._piece, wanted, keep, together)
        chunks = self._text.chunks(max(start, self._body), self._whole)
        yield from parsed_ahead(
            chunks, lambda chunk: parsed_pieces(chunk, parse, self._records.where, self._whole), self._text.parsers
        )

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far."""
        return self._text.done

    def close(self) -> None:
        """Let go of the file."""
        self._text.close()

    def _whole(self, data: bytes) -> int:
        return whole_records(data, self.separator.encode())

    # A chunk of lines

    def _as_texts(self, chunk: Chunk) -> Piece:
        texts = None
        if _is_as_it_seems(chunk.data) and are_plain_lines(chunk.data, self.separator, self.columns):
            with suppress(pl.exceptions.PolarsError):
                texts = self._read(chunk.data, dict.fromkeys(self.columns, pl.String), None)
        texts = self._records.texts(chunk) if texts is None else texts
        return Piece(texts, chunk.start, partial(self._records.where, chunk))

    def _piece(self, wanted: dict[str, Kind], keep: Sequence[str], together: Sequence[str], chunk: Chunk) -> Piece:
        """The chunk, its numbers read at once if they are plain; else as whatever it holds."""
        self._text.check_nulls(chunk)
        piece = None
        if not (self._notation.is_local or self._notation.na) and _is_as_it_seems(chunk.data):
            piece = self._with_plain_numbers(wanted, keep, together, chunk)
        if piece is None:
            frame, kept = self._parsed(wanted, keep, chunk)
            piece = Piece(frame, chunk.start, partial(self._records.where, chunk), kept).gathered(together)
        self._notice(piece, wanted)
        return piece

    def _with_plain_numbers(
        self, wanted: dict[str, Kind], keep: Sequence[str], together: Sequence[str], chunk: Chunk
    ) -> Piece | None:
        """The chunk, its numbers and dates read at once; None if they are not plain, or others cannot be read so."""
        own_dates = self._notation.date_format is not None
        plain = {name: kind for name, kind in wanted.items() if kind in PLAIN and not (own_dates and kind == "time")}
        first = [name for name in together if name in plain]
        found = plain_numbers(chunk.data, self.separator, self.columns, plain, first) if plain else None
        if found is None:
            return None
        X, frame = found
        kept = pl.DataFrame()
        others = {name: kind for name, kind in wanted.items() if name not in plain}
        if others or keep:
            places = [place for place, name in enumerate(self.columns) if name in others or name in keep]
            try:
                texts = self._read(chunk.data, dict.fromkeys(self.columns, pl.String), None, places)
                read = self._converted(texts, others, None)
            except pl.exceptions.PolarsError:
                return None
            kept = texts[list(keep)] if keep else kept
            frame = pl.concat([frame, read], how="horizontal")
        piece = Piece(frame, chunk.start, partial(self._records.where, chunk), kept)
        if first == list(together):
            return piece.with_rows(frame, together, X)
        return replace(piece, frame=frame.with_columns(pl.from_numpy(X, first))).gathered(together)

    def _parsed(self, wanted: dict[str, Kind], keep: Sequence[str], chunk: Chunk) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The chunk as numbers; else with marks for missing values; else by way of texts; else by record.

        A file that needs one of these ways will need it again. Beside it, the columns that are kept as they are.
        """
        if _is_as_it_seems(chunk.data) and is_tidy(chunk.data, self.separator.encode()):
            for way in range(self._way, 3):
                try:
                    frames = self._quickly(chunk.data, wanted, keep, way)
                except pl.exceptions.PolarsError:
                    continue
                self._way = way
                return frames
        texts = self._records.texts(chunk)
        frame = self._converted(texts[list(wanted)], wanted, chunk)
        return frame, _as_they_are(texts[list(keep)] if keep else pl.DataFrame())

    def _told_by(self, name: str) -> TOLD_BY:
        """How many rows may have told what a column holds."""
        return "none" if name in self._unknown else "few" if self._text.arrives else "many"

    def _notice(self, piece: Piece, wanted: Collection[str]) -> None:
        """Take note of the columns of which something is known now."""
        self._unknown -= {name for name in self._unknown if name in wanted and not piece.lacks(name)}

    def _quickly(
        self, data: bytes, wanted: dict[str, Kind], keep: Sequence[str], way: int
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The chunk as polars reads it; an error of polars if that cannot be."""
        comma = self._notation.decimal == ","
        # Polars reads 1.5 as a number beside 1,5; and null marks would be taken out of what is kept as it is.
        if way < 2 and (self._notation.thousands is not None or (comma and b"." in data)):
            raise pl.exceptions.ComputeError("numbers must be looked at as texts")
        if way == 1 and keep:
            raise pl.exceptions.ComputeError("marks are kept where columns are kept")
        if data.count(self.separator.encode(), 0, data.find(b"\n") + 1) > _WIDER * len(self.columns) + _WIDE:
            raise pl.exceptions.ComputeError("polars would make a column of each field in the first line")
        types = {
            name: pl.Float64 if wanted.get(name) == "number" and way < 2 and name not in keep else pl.String
            for name in self.columns
        }

        try:
            frame = self._read(data, types, self._marks if way == 1 else None)
        except pl.exceptions.PolarsError:
            if way != 1:
                raise
            # Each mark takes time, so only those are looked for that a file has.
            self._marks += [mark for mark in MISSING if mark not in self._marks and mark.encode() in data]
            frame = self._read(data, types, self._marks)
        # Polars fills short lines up, and blank ones: so the last column would be missing there.
        if len(types) == 1:
            filled = _BLANK.search(data) is not None
        else:
            fields = len(frame) * (len(types) - 1)
            filled = frame[self.columns[-1]].null_count() > 0 and outside(data, self.separator.encode()) != fields
        if filled:
            raise pl.exceptions.ComputeError("a line may be blank or too short")
        return self._converted(frame[list(wanted)], wanted, None), (frame[list(keep)] if keep else pl.DataFrame())

    def _read(
        self, data: bytes, types: Mapping[str, Any], marks: list[str] | None, places: Sequence[int] | None = None
    ) -> pl.DataFrame:
        """Records without a header as polars reads them; of columns by their places, or all of them."""
        return pl.read_csv(
            data,
            has_header=False,
            schema=types,
            columns=places,
            separator=self.separator,
            null_values=marks,
            decimal_comma=self._notation.decimal == ",",
            raise_if_empty=False,
        )

    def _converted(self, frame: pl.DataFrame, wanted: dict[str, Kind], chunk: Chunk | None) -> pl.DataFrame:
        """Texts as what they stand for. With the chunk at hand, what is wrong is named; else an error of polars."""
        done = {}
        for name, kind in list(wanted.items()):
            column = frame[name]
            if column.dtype == pl.String:
                done[name], wrong = read_texts(column, kind, self._notation, self._formats)
                if wrong is not None and chunk is None:
                    raise pl.exceptions.ComputeError(f"{column[wrong]!r} in {name!r}")
                if wrong is not None and (wider := read_wider(column, kind, self._told_by(name), self._notation)):
                    wanted[name], (done[name], wrong) = wider
                if wrong is not None and chunk is not None:
                    place = f"{self._records.where(chunk, wrong)}, column {brief(name)}"
                    wanted_there = expected(kind, self._notation) + advice_on(column[wrong], kind)
                    raise DataError(f"{place}: got {short_text(column[wrong])}, expected {wanted_there}")
            else:
                done[name] = column
        return pl.DataFrame(done)


def _likely_separator(header: str) -> str:
    """The one that the header has most of, outside of quotes; a comma if it has none."""
    bare = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=lambda each: (bare.count(each), each == ","))


def _end_of_blanks(data: bytes) -> int:
    found = _BLANKS.match(data)
    return found.end() if found else 0


def _is_as_it_seems(data: bytes) -> bool:
    """Whether each return is part of a line's end, and no mark of the byte order comes first.

    Others are a letter to polars, an error elsewhere, or quoted; and the mark polars would take away, wherever in the
    file the chunk begins.
    """
    lone_return = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    return not (lone_return or data.startswith(_BOM))


def _as_they_are(texts: pl.DataFrame) -> pl.DataFrame:
    """Columns as polars would read them: nothing where there is no letter."""
    return texts.with_columns(pl.when(pl.all() != "").then(pl.all())) if texts.width else texts
