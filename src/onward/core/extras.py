"""What is said when a part of the package is asked for whose requirements were not installed."""


class MissingExtraError(ImportError):
    """A module that an extra of the package brings is not installed."""


def missing_extra(who: str, error: ImportError, extra: str) -> ImportError:
    """The error to raise where `who` could not import something; that of a module of our own is left as it is."""
    if error.name is None or error.name.split(".")[0] == "onward":
        return error
    text = f'{who} needs {error.name}, which is not installed: pip install "onward[{extra}]"'
    return MissingExtraError(text, name=error.name)
