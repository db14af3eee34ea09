"""How functions are compiled that other compiled functions call: without what only Python needs, and kept in a file.

numba makes of each function machine code and two wrappers for Python, optimises it in full, and then does so again
inside each of its callers. A function that compiled code calls needs none of this: what is linked into its callers is
enough, and they are optimised as a whole. That takes a third off compiling, and nothing else changes: without fastmath
the bits do not depend on how code is optimised.

This uses what numba does not promise to keep: with series of numba that were not tried, `compile.py` compiles as
usual, and a part that cannot be made is compiled as usual, too.
"""

import itertools
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from llvmlite import binding as llvm
from numba import config
from numba.core import caching
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import ForceLiteralArg, TypingError
from numba.core.lowering import Environment
from numba.core.registry import CPUDispatcher

from onward.core.compile_messages import Compiling, Told, log
from onward.core.loaded_code import CodeUnpickler, compile_result, loaded, run_again

_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of a function's environments begin


# The cache


class _HomeLocator(caching.UserWideCacheLocator):
    """numba's cache in the user's home; none where there is no home, instead of a directory named ~."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return super().from_function(py_func, py_file) if os.path.isabs(os.path.expanduser("~")) else None


class _TemporaryLocator(caching.UserWideCacheLocator):
    """A cache among the temporary files, in a directory that nobody else can write to: what it holds is run."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(private_directory() / self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        try:
            found = super().from_function(py_func, py_file)
        except OSError:
            return None
        if found is not None:
            given = f"in NUMBA_CACHE_DIR={config.CACHE_DIR}, " if config.CACHE_DIR else ""
            kept = f"compiled code is kept in {private_directory()}"
            Told.warn(f"cannot write {given}beside the package or in a home: {kept}")
        return found


def private_directory() -> Path:
    """The directory of temporary files that is this user's alone, one for all processes of the user."""
    if Told.directory is None:
        directory = Path(tempfile.gettempdir()) / f"onward-compiled-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
        own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if not (stat.S_ISDIR(found.st_mode) and own and not found.st_mode & 0o022):
            directory = Path(tempfile.mkdtemp(prefix="onward-compiled-"))
        Told.directory = directory
    return Told.directory


_LOCATORS = [
    _HomeLocator if locator is caching.UserWideCacheLocator else locator
    for locator in caching.CacheImpl._locator_classes
] + [_TemporaryLocator]


class _WholeImpl(caching.CompileResultCacheImpl):
    _locator_classes = _LOCATORS

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return loaded(target_context, payload)


class _PartImpl(caching.CompileResultCacheImpl):
    """Parts in files: code for linking, with the name of the function and `part`."""

    _locator_classes = _LOCATORS

    def get_filename_base(self, fullname: str, abiflags: str) -> Any:
        return super().get_filename_base(fullname + "-part", abiflags)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        run_again(payload)
        library = PartLibrary.from_bitcode(target_context.codegen(), payload[0])
        return compile_result(target_context, payload, library, _Entry())


class _DataFirst(caching.IndexDataCacheFile):
    """Files of compiled code, of which the index is written last.

    Numba writes it first: a process that dies in between, or reads in between, would find the code that an earlier
    version of the source has left under that name.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep code under a key."""
        kept = self._load_index()
        names, known = set(kept.values()), key in kept
        if not known:
            kept[key] = next(name for name in map(self._data_name, itertools.count(1)) if name not in names)
        self._save_data(kept[key], data)
        if not known:
            self._save_index(kept)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return CodeUnpickler(file).load()


class _SoundCache(caching.Cache):
    """A cache whose files may be damaged, by a full disk or a crash: then they count as none and are replaced."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _DataFirst(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is kept for these types; None if there is nothing that can be read."""
        try:
            with self._guard_against_spurious_io_errors():  # numba's own makes itself ready to compile before
                return self._load_overload(sig, target_context)
        except Exception as error:  # whatever pickle or LLVM says of it
            file = self._cache_file
            Told.of_damage(file._index_path, error)
            try:
                file._load_index()
            except Exception:  # it is the index itself; otherwise the file that it names is written over
                with suppress(OSError):
                    file.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; what cannot be kept is there for this process."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            Told.warn(f"{error}: compiled code is kept in this process alone; NUMBA_CACHE_DIR says where else")
        except (EOFError, pickle.PickleError) as error:  # an index that could not be replaced
            Told.of_damage(self._cache_file._index_path, error)


class _WholeCache(_SoundCache):
    _impl_class = _WholeImpl


class _PartCache(_SoundCache):
    _impl_class = _PartImpl


def _cache(kind: Callable[[Any], Any], function: Any) -> Any:
    """The cache of a function; in this process alone if there is no place for files."""
    try:
        cache = kind(function)
        if config.CACHE_DIR and not str(cache.cache_path).startswith(config.CACHE_DIR):
            Told.warn(f"cannot write in NUMBA_CACHE_DIR={config.CACHE_DIR}: compiled code is kept elsewhere")
        return cache
    except RuntimeError as error:
        given = f"NUMBA_CACHE_DIR={config.CACHE_DIR} cannot be written to" if config.CACHE_DIR else error
        Told.warn(f"{given}: compiled code is kept in this process alone; NUMBA_CACHE_DIR says where else")
        return caching.NullCache()


# Parts


class _Entry:
    """What stands for a part among functions: it cannot be called from Python."""


class PartLibrary(JITCodeLibrary):
    """Code to link into callers. No machine code is made of it, and what is inlined is all that is optimised."""

    @classmethod
    def from_bitcode(cls, codegen: Any, record: tuple[str, str, bytes]) -> "PartLibrary":
        """What `serialize_using_object_code` gave."""
        name, _, bitcode = record
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """What is kept of it: code to link, and no other."""
        self._ensure_finalized()
        return self.name, "bitcode", self._final_module.as_bitcode()


class _PartCompiler(Compiler):
    def define_pipelines(self) -> Any:
        state = self.state
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class _Part(CPUDispatcher):
    """A function as other compiled functions call it."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {}, options, pipeline_class=_PartCompiler)
        self._cache = _cache(_PartCache, function)

    def compile(self, sig: Any) -> Any:
        Told.what_is_done(self._cache.cache_path)
        return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        if not isinstance(cres.entry_point, _Entry):  # compiled just now
            cres = cres._replace(entry_point=_Entry())
            self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


class Compiled(CPUDispatcher):
    """A compiled function: whole for Python, a part for compiled code."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = Compiler):
        super().__init__(py_func, locals or {}, targetoptions or {}, pipeline_class)
        self._part: _Part | None = None
        self._cache = _cache(_WholeCache, py_func)

    def enable_caching(self) -> None:
        """It is cached from the start."""

    def compile(self, sig: Any) -> Any:
        """What Python calls for arguments of these types."""
        with Compiling(), global_compiler_lock:
            if not cast(Any, self)._can_compile:  # another thread has closed it meanwhile, perhaps for these types
                known = self.overloads.get(tuple(getattr(sig, "args", sig)))
                if known is None:
                    raise TypeError(f"{self.py_func.__name__} takes no arguments of types {sig}")
                return known.entry_point
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What compiled code that calls it is told of its types: the whole one if there is one already, else a part."""
        if tuple(self._compiler.fold_argument_types(args, kws)[1]) in self.overloads:
            return super().get_call_template(args, kws)
        try:
            if self._part is None:
                self._part = _Part(self.py_func, self.targetoptions)
            return self._part.get_call_template(args, kws)
        except (TypingError, ForceLiteralArg):  # what the function itself does wrong
            raise
        except Exception as error:  # numba's insides are not what they were
            log.info("%s is not compiled as a part: %r", self.py_func.__name__, error)
            return super().get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """What compiled code calls."""
        part = None if self._part is None else self._part.overloads.get(tuple(sig))
        return super().get_overload(sig) if part is None else part.entry_point

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled or read from the cache."""
        super().add_overload(cres)
        # Parts have no code of their own in which their environments could be set.
        for symbol in cres.library._final_module.global_variables:
            environment = Environment._memo.get(symbol.name) if symbol.name.startswith(_ENVIRONMENT) else None
            if environment is not None:
                cres.library.codegen.set_env(symbol.name, environment)


def new_compiled(function: Any, **options: Any) -> Any:
    """A function compiled when it is called; as it is where numba's JIT is off."""
    return function if config.DISABLE_JIT else Compiled(function, targetoptions={"nopython": True, **options})
