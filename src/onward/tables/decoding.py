"""Text of other encodings, as UTF-8, as it comes."""

import codecs

from onward.tables.errors import DataError


class Decoder:
    """Turns the bytes of a file into UTF-8, however they are cut."""

    def __init__(self, name: str, encoding: str) -> None:
        """`name` is what the file is called in messages."""
        self._name, self._encoding = name, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._lines = 0  # that were decoded

    def decode(self, data: bytes) -> bytes:
        """The letters that are complete by now; no data is the end. DataError names the line of what is no letter."""
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            self._decoder.setstate(before)
            held = len(error.object) - len(data)  # bytes that were waiting for the rest of a letter
            well = self._decoder.decode(data[: max(0, error.start - held)])
            line = self._lines + well.count("\n") + 1
            wrong = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end][:4])
            raise DataError(
                f"{self._name}, line {line}: not {self._encoding} text ({error.reason}: {wrong})"
            ) from error
        self._lines += text.count("\n")
        return text.encode("utf-8")
