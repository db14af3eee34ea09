"""Compiled functions as they are loaded from files: without what only compiling needs.

Before numba loads a function it makes itself ready to compile: it imports some seventy modules, registers what they
hold, and compiles the counting of references. Then it reads of each function what others would link, beside the machine
code, and imports the modules of its own functions that were compiled into it. That takes a quarter of the start and
some 60 MB, and a process that compiles nothing needs none of it. When it does compile, numba makes itself ready then,
and what is to be linked is read then.
"""

import pickle
import sys
from functools import cache
from typing import Any

from llvmlite import binding as llvm
from numba.core import environment
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import _nrt_python

_HASHES = b"_numba_hashsecret"  # what numba tells LLVM of only when it makes itself ready


class CodeUnpickler(pickle.Unpickler):
    """Reads what is kept of a compiled function."""

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for; for environments, what makes them here."""
        made_here = (module, name) == (environment.__name__, environment._rebuild_env.__name__)
        return environment_of if made_here else super().find_class(module, name)


def environment_of(module: str, constants: list[Any], name: str) -> Any:
    """An environment: the constants and the module that a function needs where Python does something for it.

    Without constants a compiled function of numba's has nothing for Python to do: it does without its module.
    """
    known = environment.lookup_environment(name)
    if known is not None or constants or module in sys.modules or not module.startswith("numba."):
        return environment._rebuild_env(module, constants, name)
    made = environment.Environment({"__name__": module})
    made.env_name = name
    environment.Environment._memo[name] = made
    return made


class LoadedLibrary(JITCodeLibrary):
    """Machine code from a file. What others link is read when it is asked for."""

    _bitcode = b""

    @classmethod
    def from_object(cls, codegen: Any, record: tuple[str, str, tuple[bytes, bytes]], names: set[str]) -> Any:
        """What numba's `serialize_using_object_code` gave; `names` are those by which Python may call it."""
        name, _, (code, bitcode) = record
        library = cls(codegen, name)
        library._bitcode = bitcode
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols |= names
        return library

    def _get_module_for_linking(self) -> Any:
        if self._bitcode:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
            self._bitcode = b""
        return super()._get_module_for_linking()


def loaded(target_context: Any, payload: Any) -> CompileResult:
    """What numba's `CompileResult._reduce` gave, as a function that Python can call."""
    record, fndesc, env, *_, environments = payload
    tell_of_runtime()
    if _HASHES in record[2][0]:
        target_context.refresh()
    run_again(payload)
    names = {fndesc.llvm_func_name, fndesc.llvm_cpython_wrapper_name, fndesc.llvm_cfunc_wrapper_name}
    library = LoadedLibrary.from_object(target_context.codegen(), record, names)
    entry_point = target_context.get_executable(library, fndesc, env)
    for each in environments:
        library.codegen.set_env(each.env_name, each)
    return compile_result(target_context, payload, library, entry_point)


@cache
def tell_of_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are: memory of arrays, counted references."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def run_again(payload: Any) -> None:
    """Do what a function needs to be done in each process that loads it."""
    for again in payload[-2] or ():
        again()


def compile_result(target_context: Any, payload: Any, library: Any, entry_point: Any) -> CompileResult:
    """What numba makes of a payload, with this code and this function."""
    _, fndesc, env, signature, objectmode, lifted, annotation, reload_init, environments = payload
    return CompileResult(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=env,
        entry_point=entry_point,
        fndesc=fndesc,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=environments,
    )
