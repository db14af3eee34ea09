from contextlib import AbstractContextManager

from llvmlite import ir

def alloca_once(
    builder: ir.IRBuilder, ty: ir.Type, size: ir.Value | None = None, name: str = "", zfill: bool = False
) -> ir.Value: ...
def for_range_slice(
    builder: ir.IRBuilder,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value,
    intp: ir.Type | None = None,
    inc: bool = True,
) -> AbstractContextManager[tuple[ir.Value, ir.Value]]: ...
def get_or_insert_function(module: ir.Module, fnty: ir.FunctionType, name: str) -> ir.Function: ...
def pack_array(builder: ir.IRBuilder, values: list[ir.Value], ty: ir.Type | None = None) -> ir.Value: ...
def unpack_tuple(builder: ir.IRBuilder, tup: ir.Value, count: int | None = None) -> list[ir.Value]: ...
