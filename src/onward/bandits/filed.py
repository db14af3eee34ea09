"""What goes to files or bytes, and comes back as it was."""

import hashlib
import os
from typing import ClassVar, Self

import numpy as np

from onward import storage
from onward.bandits.settings import N_SETTINGS


class Filed:
    """Something that is saved with all it knows."""

    kind_of_file: ClassVar[str]

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, random numbers and waiting decisions included: to go on exactly from here.

        Args:
            path: the name of the file.
        """
        storage.save(path, self.kind_of_file, *self.to_record())

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return storage.to_bytes(self.kind_of_file, *self.to_record())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` gave, or a file of `save` holds: to go on exactly from there.

        Args:
            data: the bytes.
        """
        found = storage.from_bytes(data)
        if not isinstance(found, cls):
            raise storage.StorageError(f"bytes: hold a {type(found).__name__}, expected {cls.__name__}")
        return found

    def digest(self) -> str:
        """A text that two policies share only if they know the same, to the last bit, and wait for the same."""
        settings, arrays = self.to_record()
        for name in arrays:
            if name.startswith("buffer"):  # without the settings, among which are addresses of this process
                arrays[name] = np.array(arrays[name])
                arrays[name][..., :N_SETTINGS] = 0.0
        return hashlib.sha256(storage.to_bytes(self.kind_of_file, settings, arrays)).hexdigest()
