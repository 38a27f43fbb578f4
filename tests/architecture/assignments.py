"""The assignments of attributes in the sources: by file, attribute and class of the object.

Infers types as a type checker does, as far as annotations allow: parameters, attributes and results
with a declared type, constructor calls, elements of annotated containers, `isinstance`. It lists
objects without an inferred type instead of guessing. Never runs the code that it reads.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


CLASS, CALL, MODULE = "<class>", "<call>", "<module>"
"""Kinds that are no instances: a class itself, a callable (with its result), a module."""


class Kind(NamedTuple):
    """A type that an expression may have: the name of a class, and the types of its elements."""

    name: str
    args: tuple[Types, ...] = ()


Types = tuple[Kind, ...]
UNKNOWN: Types = ()
ANY = "*"
"""The name of an attribute that the text does not show."""
VALUES = "protocol.messages."
"""Messages, whose fields any file may assign: only their declarations are read."""


class Assignment(NamedTuple):
    """An assignment to `attribute` of an object of class `owner`, None if the class is unknown."""

    owner: str | None
    attribute: str
    file: str
    line: int


class _Class(NamedTuple):
    name: str
    file: str
    node: ast.ClassDef
    module: _Module


class _Module(NamedTuple):
    name: str
    file: str
    node: ast.Module
    names: dict[str, ast.AST | tuple[str, str]]
    """The names at the top level: a definition, or (module, name) for an import."""


_FIRST_OF_PAIRS = ("dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict")
_ITSELF = ("Annotated", "ClassVar", "Final", "Optional", "Required", "Awaitable")
_SAME_ELEMENTS = ("sorted", "list", "tuple", "reversed", "iter", "set", "frozenset", "deque")
_ONE_ELEMENT = ("next", "min", "max")


class Project:
    """The assignments of all modules together. `sources` are (module name, file name, text)."""

    def __init__(self, sources: Iterable[tuple[str, str, str]]) -> None:
        self.modules: dict[str, _Module] = {}
        self.classes: dict[str, _Class] = {}
        self.attributes: dict[tuple[str, str], Types] = {}
        """The types of values that were assigned to an attribute, if none is declared."""
        self.assignments: list[Assignment] = []
        for name, file, text in sources:
            tree = ast.parse(text, file)
            module = _Module(name, file, tree, {})
            self.modules[name] = module
            for node in _top_level(tree.body):
                self._note(module, node)
        self._packages = {package for name in self.modules for package in _packages(name)}
        self._mros: dict[str, list[_Class]] = {}
        self._declarations: dict[str, dict[str, FunctionNode | ast.AnnAssign]] = {}
        self._annotations: dict[int, Types] = {}
        self._telling: dict[int, list[ast.NamedExpr | ast.Call]] = {}
        self._read_until_nothing_is_new()

    def _note(self, module: _Module, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                module.names[bound] = (alias.name if alias.asname else bound, "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module.names[alias.asname or alias.name] = (node.module or "", alias.name)
        elif isinstance(node, ast.ClassDef):
            module.names[node.name] = node
            name = f"{module.name}.{node.name}"
            self.classes[name] = _Class(name, module.file, node, module)
        elif isinstance(node, FunctionNode):
            module.names[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            module.names.setdefault(node.targets[0].id, node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            module.names[node.target.id] = node

    def _read_until_nothing_is_new(self) -> None:
        """Read all modules until a turn adds no types, which attributes pass to each other."""
        for _ in range(6):
            before = dict(self.attributes)
            self.assignments = []
            for module in self.modules.values():
                if not module.name.startswith(VALUES):
                    _Reader(self, module, {}).body(module.node.body)
            if self.attributes == before:
                break

    # --- classes ------------------------------------------------------------------------------

    def ancestry(self, name: str) -> list[_Class]:
        """Return the class and its ancestors, as far as they are in the project."""
        ancestry = self._mros.get(name)
        if ancestry is None:
            self._mros[name] = ancestry = []
            cls = self.classes.get(name)
            if cls is not None:
                ancestry.append(cls)
                for base in cls.node.bases:
                    plain = base.value if isinstance(base, ast.Subscript) else base
                    for kind in self.annotation(cls.module, plain):
                        ancestry += [c for c in self.ancestry(kind.name) if c not in ancestry]
        return ancestry

    def telling(self, node: ast.stmt) -> list[ast.NamedExpr | ast.Call]:
        """Return the expressions of a statement itself that show a kind, or assign an attribute."""
        expressions = self._telling.get(id(node))
        if expressions is None:
            self._telling[id(node)] = expressions = [
                inner
                for expression in _expressions(node)
                for inner in ast.walk(expression)
                if isinstance(inner, ast.NamedExpr)
                or (isinstance(inner, ast.Call) and _tells(inner.func))
            ]
        return expressions

    # --- names ---------------------------------------------------------------------------------

    def name_in(self, module: _Module, name: str) -> Types:
        """Return the types of a module's name."""
        node = module.names.get(name)
        if node is None:
            is_class = name in _BUILTINS
            return (Kind(CLASS, ((Kind(name),),)),) if is_class else UNKNOWN
        if isinstance(node, tuple):
            return self._imported(*node)
        if isinstance(node, ast.ClassDef):
            return (Kind(CLASS, ((Kind(f"{module.name}.{node.name}"),),)),)
        if isinstance(node, FunctionNode):
            return self.function(module, node)
        if isinstance(node, ast.AnnAssign):
            if node.value is not None and _last_word(node.annotation) == "TypeAlias":
                return (Kind(CLASS, (self.annotation(module, node.value),)),)
            return self.annotation(module, node.annotation)
        if isinstance(node, ast.Assign):
            return self._constant(module, node.value)
        return UNKNOWN

    def _constant(self, module: _Module, value: ast.expr) -> Types:
        if isinstance(value, ast.BinOp | ast.Subscript | ast.Name | ast.Attribute):
            alias = self.annotation(module, value)
            if alias:
                return (Kind(CLASS, (alias,)),)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            if value.func.id == "TypeVar":
                bound = [k.value for k in value.keywords if k.arg == "bound"]
                return (Kind(CLASS, (self.annotation(module, bound[0]) if bound else UNKNOWN,)),)
            if value.func.id == "NewType":
                return (Kind(CLASS, (self.annotation(module, value.args[1]),)),)
        return _Reader(self, module, {}).infer(value)

    def _imported(self, module: str, name: str) -> Types:
        whole = f"{module}.{name}" if name else module
        if whole in self.modules:
            return (Kind(MODULE, ((Kind(whole),),)),)
        if module in self.modules:
            return self.name_in(self.modules[module], name)
        if whole in self._packages:
            return (Kind(MODULE, ((Kind(whole),),)),)
        return UNKNOWN if name == "Any" else (Kind(CLASS, ((Kind(name or module),),)),)

    def function(self, module: _Module, node: FunctionNode) -> Types:
        """Return the type of a function as a value: a callable with its result."""
        result = self.annotation(module, node.returns) if node.returns else UNKNOWN
        return (Kind(CALL, (result,)),)

    def annotation(self, module: _Module, node: ast.expr) -> Types:
        """Return the classes that an annotation names."""
        types = self._annotations.get(id(node))
        if types is None:
            self._annotations[id(node)] = types = self._annotation(module, node)
        return types

    def _annotation(self, module: _Module, node: ast.expr) -> Types:
        if isinstance(node, ast.Constant):
            is_name = isinstance(node.value, str) and node.value.isidentifier()
            is_name = is_name and not keyword.iskeyword(str(node.value))
            return self._annotation(module, ast.Name(str(node.value))) if is_name else UNKNOWN
        if isinstance(node, ast.BinOp):
            return _union(self.annotation(module, node.left), self.annotation(module, node.right))
        if isinstance(node, ast.Name | ast.Attribute):
            types = (
                self.name_in(module, node.id)
                if isinstance(node, ast.Name)
                else _Reader(self, module, {}).infer(node)
            )
            return _union(*(kind.args[0] for kind in types if kind.name == CLASS))
        if isinstance(node, ast.Subscript):
            return self._generic(module, node)
        return UNKNOWN

    def _generic(self, module: _Module, node: ast.Subscript) -> Types:
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        heads = self.annotation(module, node.value)
        word = heads[0].name if heads else ""
        if word in _ITSELF:
            return self.annotation(module, inner[0])
        if word == "type":
            return (Kind(CLASS, (self.annotation(module, inner[0]),)),)
        if word == "Callable":
            return (Kind(CALL, (self.annotation(module, inner[-1]),)),)
        if word == "tuple" and isinstance(inner[-1], ast.Constant) and inner[-1].value is ...:
            return (Kind("list", (self.annotation(module, inner[0]),)),)
        return tuple(
            Kind(head.name, tuple(self.annotation(module, argument) for argument in inner))
            for head in heads
        )

    # --- attributes ----------------------------------------------------------------------------

    def attribute(self, of: Kind, name: str) -> Types:
        """Return the types of `object.name` for an object of the type `of`."""
        if of.name == MODULE:
            return self._of_module(of.args[0][0].name, name)
        if of.name == CLASS:
            return _union(*(self.attribute(cls, name) for cls in of.args[0]))
        if of.name not in self.classes:
            return _of_container(of, name)
        for cls in self.ancestry(of.name):
            declared = self._declared(cls, name)
            if declared is not None:
                return declared
        return _union(
            *(self.attributes.get((cls.name, name), UNKNOWN) for cls in self.ancestry(of.name))
        )

    def _of_module(self, module: str, name: str) -> Types:
        if module in self.modules and name in self.modules[module].names:
            return self.name_in(self.modules[module], name)
        return self._imported(module, name)

    def _declared(self, cls: _Class, name: str) -> Types | None:
        node = self._members(cls).get(name)
        if node is None:
            return None
        if isinstance(node, ast.AnnAssign):
            return self.annotation(cls.module, node.annotation)
        result = self.function(cls.module, node)
        is_value = any(
            _last_word(decorator).endswith("property") for decorator in node.decorator_list
        )
        return result[0].args[0] if is_value else result

    def _members(self, cls: _Class) -> dict[str, FunctionNode | ast.AnnAssign]:
        """Return the declarations of a class itself, by name; the first if there are several."""
        members = self._declarations.get(cls.name)
        if members is None:
            self._declarations[cls.name] = members = {}
            for node in cls.node.body:
                if isinstance(node, FunctionNode):
                    members.setdefault(node.name, node)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    members.setdefault(node.target.id, node)
        return members

    def has(self, of: Kind, name: str) -> bool:
        """Return whether a class of the project has an attribute, declared or assigned."""
        return (
            name == ANY
            or of.name.startswith(VALUES)
            or any(
                self._declared(cls, name) is not None or (cls.name, name) in self.attributes
                for cls in self.ancestry(of.name)
            )
        )


class _Reader:
    """A reader of one body: a module's, a class's or a function's."""

    def __init__(
        self,
        project: Project,
        module: _Module,
        names: dict[str, Types],
        cls: str | None = None,
        in_class: bool = False,
    ) -> None:
        self.project = project
        self.module = module
        self.names = names
        self.cls = cls
        """The class around the body; `in_class`: directly around it."""
        self.in_class = in_class

    # --- statements ----------------------------------------------------------------------------

    def body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        for expression in self.project.telling(node):
            self._look_into(expression)
        if isinstance(node, ast.ClassDef):
            name = f"{self.module.name}.{node.name}"
            _Reader(self.project, self.module, dict(self.names), name, True).body(node.body)
        elif isinstance(node, FunctionNode):
            self._function(node)
        elif isinstance(node, ast.Assign):
            value = self.infer(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            declared = self.project.annotation(self.module, node.annotation)
            if node.value is not None or not isinstance(node.target, ast.Attribute):
                self._assign(node.target, declared)
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, UNKNOWN)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._assign(target, UNKNOWN)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._assign(node.target, _element(self.infer(node.iter)))
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, self._entered(item.context_expr))
        if not isinstance(node, ast.ClassDef | FunctionNode):
            for inner in _blocks(node):
                self.body(inner)

    def _entered(self, manager: ast.expr) -> Types:
        types = self.infer(manager)
        return _union(types, _element(types))

    def _function(self, node: FunctionNode) -> None:
        names = dict(self.names)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for argument in every:
            names[argument.arg] = (
                self.project.annotation(self.module, argument.annotation)
                if argument.annotation is not None
                else UNKNOWN
            )
        decorators = [_last_word(decorator) for decorator in node.decorator_list]
        if self.in_class and self.cls and every and "staticmethod" not in decorators:
            itself: Types = (Kind(self.cls),)
            names[every[0].arg] = (
                (Kind(CLASS, (itself,)),) if "classmethod" in decorators else itself
            )
        self.names[node.name] = self.project.function(self.module, node)
        _Reader(self.project, self.module, names, self.cls).body(node.body)

    def _assign(self, target: ast.expr, value: Types) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = _union(self.names.get(target.id, UNKNOWN), value)
        elif isinstance(target, ast.Tuple | ast.List):
            for place, part in enumerate(target.elts):
                self._assign(part, _part(value, place))
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._attribute_assigned(target.value, target.attr, target.lineno, value)
        elif isinstance(target, ast.Subscript):
            self._dict_assigned(target)

    def _dict_assigned(self, target: ast.Subscript) -> None:
        if isinstance(target.value, ast.Attribute) and target.value.attr == "__dict__":
            self._attribute_assigned(target.value.value, ANY, target.lineno, UNKNOWN)

    def _attribute_assigned(self, owner: ast.expr, name: str, line: int, value: Types) -> None:
        types = self.infer(owner)
        classes = [kind for kind in types if kind.name in self.project.classes]
        # The type checker has passed: so the attribute decides between the classes of a union.
        owners = [kind for kind in classes if kind.name == self.cls or self.project.has(kind, name)]
        file = self.module.file
        for kind in owners:
            self.project.assignments.append(Assignment(kind.name, name, file, line))
            types_before = self.project.attributes.get((kind.name, name), UNKNOWN)
            self.project.attributes[kind.name, name] = _union(types_before, value)
        if not owners and (classes or not types):
            self.project.assignments.append(Assignment(None, name, file, line))

    def _look_into(self, node: ast.NamedExpr | ast.Call) -> None:
        """Infer from `isinstance` and `:=`; record the assignments of `setattr` and `__dict__`."""
        if isinstance(node, ast.NamedExpr):
            self._assign(node.target, self.infer(node.value))
        elif isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            if isinstance(node.args[0], ast.Name):
                self._assign(node.args[0], self.project.annotation(self.module, node.args[1]))
        elif isinstance(node.func, ast.Name):
            owner, name, value = node.args
            attribute = str(name.value) if isinstance(name, ast.Constant) else ANY
            self._attribute_assigned(owner, attribute, node.lineno, self.infer(value))
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Attribute):
            self._attribute_assigned(node.func.value.value, ANY, node.lineno, UNKNOWN)

    # --- expressions ---------------------------------------------------------------------------

    def infer(self, node: ast.expr) -> Types:
        """Return the types that an expression may have; none if the text does not show them."""
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            return self.project.name_in(self.module, node.id)
        if isinstance(node, ast.Attribute):
            types = self.infer(node.value)
            return _union(*(self.project.attribute(of, node.attr) for of in types))
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Subscript):
            return _union(*(_item(of, node.slice) for of in self.infer(node.value)))
        if isinstance(node, ast.Await | ast.NamedExpr | ast.Starred):
            return self.infer(node.value)
        if isinstance(node, ast.IfExp):
            return _union(self.infer(node.body), self.infer(node.orelse))
        if isinstance(node, ast.BoolOp):
            return _union(*(self.infer(value) for value in node.values))
        if isinstance(node, ast.BinOp):
            return _union(self.infer(node.left), self.infer(node.right))
        if isinstance(node, ast.List | ast.Set):
            return (Kind("list", (_union(*(self.infer(part) for part in node.elts)),)),)
        if isinstance(node, ast.Tuple):
            return (Kind("tuple", tuple(self.infer(part) for part in node.elts)),)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return (Kind("list", (self._inside(node.generators).infer(node.elt),)),)
        if isinstance(node, ast.DictComp):
            inside = self._inside(node.generators)
            return (Kind("dict", (inside.infer(node.key), inside.infer(node.value))),)
        if isinstance(node, ast.Lambda):
            return (Kind(CALL, (self.infer(node.body),)),)
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Dict | ast.Compare | ast.UnaryOp):
            return (Kind("object"),)
        return UNKNOWN

    def _inside(self, generators: list[ast.comprehension]) -> _Reader:
        inside = _Reader(self.project, self.module, dict(self.names), self.cls)
        for generator in generators:
            inside._assign(generator.target, _element(inside.infer(generator.iter)))
        return inside

    def _called(self, node: ast.Call) -> Types:
        if isinstance(node.func, ast.Name) and node.args:
            word = node.func.id
            if word == "cast":
                return self.project.annotation(self.module, node.args[0])
            if word in _SAME_ELEMENTS:
                return (Kind("list", (_element(self.infer(node.args[0])),)),)
            if word in _ONE_ELEMENT:
                return _element(self.infer(node.args[0]))
            if word == "enumerate":
                pair = Kind("tuple", ((Kind("int"),), _element(self.infer(node.args[0]))))
                return (Kind("list", ((pair,),)),)
            if word == "zip":
                pair = Kind(
                    "tuple", tuple(_element(self.infer(argument)) for argument in node.args)
                )
                return (Kind("list", ((pair,),)),)
            if word == "super" or word == "replace":
                return self.infer(node.args[0])
        return _union(*(of.args[0] for of in self.infer(node.func) if of.name in (CALL, CLASS)))


_BUILTINS = (
    *("int", "str", "bytes", "bool", "float", "object", "list", "dict", "tuple", "set", "type"),
    *("frozenset", "bytearray", "memoryview", "Exception", "BaseException", "OSError"),
)


def _top_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield a module's statements, with those under `if` and `try`, and imports in functions."""
    for node in statements:
        yield node
        if isinstance(node, ast.If | ast.Try):
            for block in _blocks(node):
                yield from _top_level(block)
        elif isinstance(node, ast.ClassDef | FunctionNode):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    yield inner


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, None) or []
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield handler.body


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement itself, not those of its blocks."""
    for value in ast.iter_child_nodes(node):
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, ast.withitem):
            yield value.context_expr


def _last_word(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _tells(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("isinstance", "setattr")
    of_dict = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Attribute)
    return of_dict and ast.unparse(function).endswith(".__dict__.update")


def _packages(module: str) -> Iterator[str]:
    """Yield `a.b` and `a` for `a.b.c`."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _union(*types: Types) -> Types:
    return tuple(dict.fromkeys(kind for group in types for kind in group))


def _element(types: Types) -> Types:
    elements: list[Types] = []
    for kind in types:
        if kind.name == "tuple":
            elements += kind.args
        elif kind.args and kind.name not in (CLASS, CALL, MODULE):
            elements.append(kind.args[0])
    return _union(*elements)


def _part(types: Types, place: int) -> Types:
    parts = []
    for kind in types:
        if kind.name == "tuple":
            parts.append(kind.args[place] if place < len(kind.args) else UNKNOWN)
        else:
            parts.append(_element((kind,)))
    return _union(*parts)


def _item(of: Kind, index: ast.expr) -> Types:
    if of.name == CLASS:
        return (of,)
    if of.name in _FIRST_OF_PAIRS:
        return of.args[1] if len(of.args) > 1 else UNKNOWN
    if of.name == "tuple" and isinstance(index, ast.Constant) and isinstance(index.value, int):
        return of.args[index.value] if index.value < len(of.args) else UNKNOWN
    return (of,) if isinstance(index, ast.Slice) else _element((of,))


def _list(elements: Types) -> Types:
    return (Kind("list", (elements,)),)


def _giving(result: Types) -> Types:
    return (Kind(CALL, (result,)),)


def _of_container(of: Kind, name: str) -> Types:
    """Return the type of a list's or dict's method that returns elements."""
    if of.name in _FIRST_OF_PAIRS and len(of.args) == 2:
        key, value = of.args
        if name == "items":
            return _giving(_list((Kind("tuple", (key, value)),)))
        if name == "values":
            return _giving(_list(value))
        if name in ("get", "pop", "setdefault"):
            return _giving(value)
    if of.args and name in ("pop", "popleft", "__next__"):
        return _giving(_element((of,)))
    if name in ("copy", "union"):
        return _giving((of,))
    return UNKNOWN
