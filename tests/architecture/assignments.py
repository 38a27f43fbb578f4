"""Which file assigns which attribute of which class, read from the text of the sources.

Follows names the way a type checker does, as far as annotations lead: parameters, attributes and
results with a known type, constructor calls, elements of annotated containers, `isinstance`. What
it cannot follow it lists instead of guessing. Runs nothing that it reads.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


CLASS, CALL, MODULE = "<class>", "<call>", "<module>"
"""What is no instance: a class itself, a function (with what it gives), a module."""


class Known(NamedTuple):
    """One thing that an expression may be: the name of a class, and what it is a container of."""

    name: str
    args: tuple[Types, ...] = ()


Types = tuple[Known, ...]
UNKNOWN: Types = ()
ANY = "*"
"""An attribute whose name the text does not tell."""
VALUES = "protocol.messages."
"""Messages are values, there to be filled in: only what they declare is read."""


class Assignment(NamedTuple):
    """`file`:`line` assigns `attribute` of an object of class `owner` (None: not known)."""

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
    """What stands at the top: a definition, or (module, name) for an import."""


_FIRST_OF_PAIRS = ("dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict")
_ITSELF = ("Annotated", "ClassVar", "Final", "Optional", "Required", "Awaitable")
_SAME_ELEMENTS = ("sorted", "list", "tuple", "reversed", "iter", "set", "frozenset", "deque")
_ONE_ELEMENT = ("next", "min", "max")


class Project:
    """All modules together. `sources` are (module's name, file's name, text)."""

    def __init__(self, sources: Iterable[tuple[str, str, str]]) -> None:
        self.modules: dict[str, _Module] = {}
        self.classes: dict[str, _Class] = {}
        self.attributes: dict[tuple[str, str], Types] = {}
        """What was seen assigned, where nothing is declared."""
        self.assignments: list[Assignment] = []
        for name, file, text in sources:
            tree = ast.parse(text, file)
            module = _Module(name, file, tree, {})
            self.modules[name] = module
            for node in _top_level(tree.body):
                self._note(module, node)
        self._packages = {one for name in self.modules for one in _packages(name)}
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
        """Attributes are often assigned from other attributes: each turn knows some more."""
        for _ in range(6):
            before = dict(self.attributes)
            self.assignments = []
            for module in self.modules.values():
                if not module.name.startswith(VALUES):
                    _Reader(self, module, {}).body(module.node.body)
            if self.attributes == before:
                break

    # --- what is asked -------------------------------------------------------------------------

    def ancestry(self, name: str) -> list[_Class]:
        """The class and all it inherits from, as far as they are ours."""
        known = self._mros.get(name)
        if known is None:
            self._mros[name] = known = []
            one = self.classes.get(name)
            if one is not None:
                known.append(one)
                for base in one.node.bases:
                    plain = base.value if isinstance(base, ast.Subscript) else base
                    for found in self.annotation(one.module, plain):
                        known += [more for more in self.ancestry(found.name) if more not in known]
        return known

    def telling(self, node: ast.stmt) -> list[ast.NamedExpr | ast.Call]:
        """What inside a statement, without its blocks, tells what a name is, or assigns."""
        known = self._telling.get(id(node))
        if known is None:
            self._telling[id(node)] = known = [
                inner
                for expression in _expressions(node)
                for inner in ast.walk(expression)
                if isinstance(inner, ast.NamedExpr)
                or (isinstance(inner, ast.Call) and _tells(inner.func))
            ]
        return known

    # --- names ---------------------------------------------------------------------------------

    def name_in(self, module: _Module, name: str) -> Types:
        """What a module's name stands for."""
        node = module.names.get(name)
        if node is None:
            is_class = name in _BUILTINS
            return (Known(CLASS, ((Known(name),),)),) if is_class else UNKNOWN
        if isinstance(node, tuple):
            return self._imported(*node)
        if isinstance(node, ast.ClassDef):
            return (Known(CLASS, ((Known(f"{module.name}.{node.name}"),),)),)
        if isinstance(node, FunctionNode):
            return self.function(module, node)
        if isinstance(node, ast.AnnAssign):
            if node.value is not None and _last_word(node.annotation) == "TypeAlias":
                return (Known(CLASS, (self.annotation(module, node.value),)),)
            return self.annotation(module, node.annotation)
        if isinstance(node, ast.Assign):
            return self._constant(module, node.value)
        return UNKNOWN

    def _constant(self, module: _Module, value: ast.expr) -> Types:
        if isinstance(value, ast.BinOp | ast.Subscript | ast.Name | ast.Attribute):
            alias = self.annotation(module, value)
            if alias:
                return (Known(CLASS, (alias,)),)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            if value.func.id == "TypeVar":
                bound = [k.value for k in value.keywords if k.arg == "bound"]
                return (Known(CLASS, (self.annotation(module, bound[0]) if bound else UNKNOWN,)),)
            if value.func.id == "NewType":
                return (Known(CLASS, (self.annotation(module, value.args[1]),)),)
        return _Reader(self, module, {}).infer(value)

    def _imported(self, module: str, name: str) -> Types:
        whole = f"{module}.{name}" if name else module
        if whole in self.modules:
            return (Known(MODULE, ((Known(whole),),)),)
        if module in self.modules:
            return self.name_in(self.modules[module], name)
        if whole in self._packages:
            return (Known(MODULE, ((Known(whole),),)),)
        return UNKNOWN if name == "Any" else (Known(CLASS, ((Known(name or module),),)),)

    def function(self, module: _Module, node: FunctionNode) -> Types:
        """A function as a value: what calling it gives."""
        result = self.annotation(module, node.returns) if node.returns else UNKNOWN
        return (Known(CALL, (result,)),)

    def annotation(self, module: _Module, node: ast.expr) -> Types:
        """The classes that an annotation names."""
        known = self._annotations.get(id(node))
        if known is None:
            self._annotations[id(node)] = known = self._annotation(module, node)
        return known

    def _annotation(self, module: _Module, node: ast.expr) -> Types:
        if isinstance(node, ast.Constant):
            is_name = isinstance(node.value, str) and node.value.isidentifier()
            is_name = is_name and not keyword.iskeyword(str(node.value))
            return self._annotation(module, ast.Name(str(node.value))) if is_name else UNKNOWN
        if isinstance(node, ast.BinOp):
            return _union(self.annotation(module, node.left), self.annotation(module, node.right))
        if isinstance(node, ast.Name | ast.Attribute):
            found = (
                self.name_in(module, node.id)
                if isinstance(node, ast.Name)
                else _Reader(self, module, {}).infer(node)
            )
            return _union(*(known.args[0] for known in found if known.name == CLASS))
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
            return (Known(CLASS, (self.annotation(module, inner[0]),)),)
        if word == "Callable":
            return (Known(CALL, (self.annotation(module, inner[-1]),)),)
        if word == "tuple" and isinstance(inner[-1], ast.Constant) and inner[-1].value is ...:
            return (Known("list", (self.annotation(module, inner[0]),)),)
        return tuple(
            Known(head.name, tuple(self.annotation(module, one) for one in inner)) for head in heads
        )

    # --- attributes ----------------------------------------------------------------------------

    def attribute(self, of: Known, name: str) -> Types:
        """What `object.name` is, for one thing that the object may be."""
        if of.name == MODULE:
            return self._of_module(of.args[0][0].name, name)
        if of.name == CLASS:
            return _union(*(self.attribute(one, name) for one in of.args[0]))
        if of.name not in self.classes:
            return _of_container(of, name)
        for one in self.ancestry(of.name):
            declared = self._declared(one, name)
            if declared is not None:
                return declared
        return _union(
            *(self.attributes.get((one.name, name), UNKNOWN) for one in self.ancestry(of.name))
        )

    def _of_module(self, module: str, name: str) -> Types:
        if module in self.modules and name in self.modules[module].names:
            return self.name_in(self.modules[module], name)
        return self._imported(module, name)

    def _declared(self, one: _Class, name: str) -> Types | None:
        node = self._members(one).get(name)
        if node is None:
            return None
        if isinstance(node, ast.AnnAssign):
            return self.annotation(one.module, node.annotation)
        result = self.function(one.module, node)
        is_value = any(_last_word(word).endswith("property") for word in node.decorator_list)
        return result[0].args[0] if is_value else result

    def _members(self, one: _Class) -> dict[str, FunctionNode | ast.AnnAssign]:
        """What a class itself declares, by name: the first where there are several."""
        known = self._declarations.get(one.name)
        if known is None:
            self._declarations[one.name] = known = {}
            for node in one.node.body:
                if isinstance(node, FunctionNode):
                    known.setdefault(node.name, node)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    known.setdefault(node.target.id, node)
        return known

    def has(self, of: Known, name: str) -> bool:
        """Whether a class of ours has an attribute, declared or assigned."""
        return (
            name == ANY
            or of.name.startswith(VALUES)
            or any(
                self._declared(one, name) is not None or (one.name, name) in self.attributes
                for one in self.ancestry(of.name)
            )
        )


class _Reader:
    """Reads one body: a module's, a class's or a function's."""

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
        """The class around what is read; `in_class`: directly around it."""
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
        found = self.infer(manager)
        return _union(found, _element(found))

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
        words = [_last_word(one) for one in node.decorator_list]
        if self.in_class and self.cls and every and "staticmethod" not in words:
            itself: Types = (Known(self.cls),)
            names[every[0].arg] = (Known(CLASS, (itself,)),) if "classmethod" in words else itself
        self.names[node.name] = self.project.function(self.module, node)
        _Reader(self.project, self.module, names, self.cls).body(node.body)

    def _assign(self, target: ast.expr, value: Types) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = _union(self.names.get(target.id, UNKNOWN), value)
        elif isinstance(target, ast.Tuple | ast.List):
            for place, one in enumerate(target.elts):
                self._assign(one, _part(value, place))
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
        found = self.infer(owner)
        ours = [one for one in found if one.name in self.project.classes]
        # A type checker has seen that the object has the attribute: this tells unions apart.
        owners = [one for one in ours if one.name == self.cls or self.project.has(one, name)]
        file = self.module.file
        for one in owners:
            self.project.assignments.append(Assignment(one.name, name, file, line))
            known = self.project.attributes.get((one.name, name), UNKNOWN)
            self.project.attributes[one.name, name] = _union(known, value)
        if not owners and (ours or not found):
            self.project.assignments.append(Assignment(None, name, file, line))

    def _look_into(self, node: ast.NamedExpr | ast.Call) -> None:
        """`isinstance` and `:=` tell what a name is; `setattr` and `__dict__` assign."""
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
        """What an expression may be; nothing where the text does not tell."""
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            return self.project.name_in(self.module, node.id)
        if isinstance(node, ast.Attribute):
            found = self.infer(node.value)
            return _union(*(self.project.attribute(one, node.attr) for one in found))
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Subscript):
            return _union(*(_item(one, node.slice) for one in self.infer(node.value)))
        if isinstance(node, ast.Await | ast.NamedExpr | ast.Starred):
            return self.infer(node.value)
        if isinstance(node, ast.IfExp):
            return _union(self.infer(node.body), self.infer(node.orelse))
        if isinstance(node, ast.BoolOp):
            return _union(*(self.infer(one) for one in node.values))
        if isinstance(node, ast.BinOp):
            return _union(self.infer(node.left), self.infer(node.right))
        if isinstance(node, ast.List | ast.Set):
            return (Known("list", (_union(*(self.infer(one) for one in node.elts)),)),)
        if isinstance(node, ast.Tuple):
            return (Known("tuple", tuple(self.infer(one) for one in node.elts)),)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return (Known("list", (self._inside(node.generators).infer(node.elt),)),)
        if isinstance(node, ast.DictComp):
            inside = self._inside(node.generators)
            return (Known("dict", (inside.infer(node.key), inside.infer(node.value))),)
        if isinstance(node, ast.Lambda):
            return (Known(CALL, (self.infer(node.body),)),)
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Dict | ast.Compare | ast.UnaryOp):
            return (Known("object"),)
        return UNKNOWN

    def _inside(self, generators: list[ast.comprehension]) -> _Reader:
        inside = _Reader(self.project, self.module, dict(self.names), self.cls)
        for one in generators:
            inside._assign(one.target, _element(inside.infer(one.iter)))
        return inside

    def _called(self, node: ast.Call) -> Types:
        if isinstance(node.func, ast.Name) and node.args:
            word = node.func.id
            if word == "cast":
                return self.project.annotation(self.module, node.args[0])
            if word in _SAME_ELEMENTS:
                return (Known("list", (_element(self.infer(node.args[0])),)),)
            if word in _ONE_ELEMENT:
                return _element(self.infer(node.args[0]))
            if word == "enumerate":
                pair = Known("tuple", ((Known("int"),), _element(self.infer(node.args[0]))))
                return (Known("list", ((pair,),)),)
            if word == "zip":
                pair = Known("tuple", tuple(_element(self.infer(one)) for one in node.args))
                return (Known("list", ((pair,),)),)
            if word == "super" or word == "replace":
                return self.infer(node.args[0])
        return _union(*(one.args[0] for one in self.infer(node.func) if one.name in (CALL, CLASS)))


_BUILTINS = (
    *("int", "str", "bytes", "bool", "float", "object", "list", "dict", "tuple", "set", "type"),
    *("frozenset", "bytearray", "memoryview", "Exception", "BaseException", "OSError"),
)


def _top_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those under `if TYPE_CHECKING` and `try` and the imports inside its
    functions too."""
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
    """The expressions of a statement itself, not those of its blocks."""
    for value in ast.iter_child_nodes(node):
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, ast.withitem):
            yield value.context_expr


def _last_word(node: ast.expr) -> str:
    """Of a name, with or without what it is a name in."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _tells(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("isinstance", "setattr")
    of_dict = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Attribute)
    return of_dict and ast.unparse(function).endswith(".__dict__.update")


def _packages(module: str) -> Iterator[str]:
    """`a.b.c` gives `a` and `a.b`."""
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _union(*types: Types) -> Types:
    return tuple(dict.fromkeys(one for many in types for one in many))


def _element(types: Types) -> Types:
    found: list[Types] = []
    for one in types:
        if one.name == "tuple":
            found += one.args
        elif one.args and one.name not in (CLASS, CALL, MODULE):
            found.append(one.args[0])
    return _union(*found)


def _part(types: Types, place: int) -> Types:
    found = []
    for one in types:
        if one.name == "tuple":
            found.append(one.args[place] if place < len(one.args) else UNKNOWN)
        else:
            found.append(_element((one,)))
    return _union(*found)


def _item(of: Known, index: ast.expr) -> Types:
    if of.name == CLASS:
        return (of,)
    if of.name in _FIRST_OF_PAIRS:
        return of.args[1] if len(of.args) > 1 else UNKNOWN
    if of.name == "tuple" and isinstance(index, ast.Constant) and isinstance(index.value, int):
        return of.args[index.value] if index.value < len(of.args) else UNKNOWN
    return (of,) if isinstance(index, ast.Slice) else _element((of,))


def _list(elements: Types) -> Types:
    return (Known("list", (elements,)),)


def _giving(result: Types) -> Types:
    return (Known(CALL, (result,)),)


def _of_container(of: Known, name: str) -> Types:
    """The methods of lists and dicts that give their elements."""
    if of.name in _FIRST_OF_PAIRS and len(of.args) == 2:
        key, value = of.args
        if name == "items":
            return _giving(_list((Known("tuple", (key, value)),)))
        if name == "values":
            return _giving(_list(value))
        if name in ("get", "pop", "setdefault"):
            return _giving(value)
    if of.args and name in ("pop", "popleft", "__next__"):
        return _giving(_element((of,)))
    if name in ("copy", "union"):
        return _giving((of,))
    return UNKNOWN
